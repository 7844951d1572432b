/*
The explorer: all results as rows, filtered by facets and words, drawn and listed, to be taken along. The page is
kbtool/site/explore/, its data data/explore/; what each module does stands at its top.

  columns.js  the table of all results         scales.js, scene.js, paint.js  a chart: axes, contents, drawing
  filter.js   which rows are shown             plot.js, sheet.js              the chart on the page, and as a file
  order.js    in which order                   facets.js, grid.js             the facets, the table
  state.js    what is chosen, in the address   export.js                      CSV and JSON
  picks.js    what is to be compared           empty.js                       what is said where nothing is shown

Everything is computed here from the columns; tests hold filters, order, sweeps and files equal to Python's.
*/

import { Results, distinct } from "./explore/columns.js";
import { counted, element, option } from "./explore/dom.js";
import { OTHER_METRIC, askForModel, showEmpty } from "./explore/empty.js";
import { csv, json, save } from "./explore/export.js";
import { Facets, showChips } from "./explore/facets.js";
import { Filter } from "./explore/filter.js";
import { Grid } from "./explore/grid.js";
import { ordered } from "./explore/order.js";
import { Picks } from "./explore/picks.js";
import { Plot } from "./explore/plot.js";
import { MOST_DOTS, makeScene, pools, statisticKinds, usualAxis } from "./explore/scene.js";
import { decodeWord, encodeWord, read, write } from "./explore/state.js";

const root = new URL("../", import.meta.url);
const NAMES = ["ref", "result", "page", "qualifier", "low", "high"];
const FRONTIER = ["per_accelerator", "user_tok_s"]; // its two figures
const WIDE = "(min-width: 60em)"; // where the facets stand beside the table

class Explorer {
  constructor(host, results) {
    this.host = host;
    this.results = results;
    this.header = results.header;
    this.at = Object.fromEntries(Array.from(host.querySelectorAll("[data-x]"), (each) => [each.dataset.x, each]));
    this.filter = new Filter(results, this.header.facets);
    this.orders = new Map();
    const change = (patch) => this.change(patch);
    this.picks = new Picks(host, this.at.tray, results, root, (picks) => this.pick(picks));
    this.facets = new Facets(host, results, this.filter, change);
    this.grid = new Grid(this.at.table, this.at.pager, results, root, this.picks, change);
    this.plot = new Plot(this.at, results, root, this.picks, (what, error) => this.trouble(what, error));
    this.listen();
    this.adopt();
  }

  listen() {
    const { at } = this;
    for (const key of ["metric", "view", "x", "y", "by", "stat", "pool"]) at[key].addEventListener("change", () => this.change({ [key]: at[key].value, ...(key === "metric" || key === "view" ? OTHER_METRIC : {}), ...(key === "metric" && this.state.view === "frontier" ? { view: "scatter" } : {}) }));
    for (const key of ["logx", "logy"]) at[key].addEventListener("change", () => this.change({ [key]: at[key].checked ? "1" : "0" }));
    at.all.addEventListener("change", () => this.change({ all: at.all.checked }));
    at.q.addEventListener("input", () => this.change({ q: at.q.value }, true));
    at.chooser.addEventListener("change", (event) => {
      const { value, checked } = event.target;
      const columns = this.state.columns.filter((name) => name !== value);
      this.change({ columns: checked ? [...columns, value] : columns });
    });
    at.csv.addEventListener("click", () => this.take("csv"));
    at.json.addEventListener("click", () => this.take("json"));
    at.svg.addEventListener("click", () => save("chart.svg", [this.plot.svg(this.said())], "image/svg+xml"));
    at.png.addEventListener("click", async () => save("chart.png", await this.plot.png(this.said())));
    at.link.addEventListener("pointerdown", () => (at.link.dataset.kbCopy = location.href));
    at.link.addEventListener("keydown", () => (at.link.dataset.kbCopy = location.href));
    const adopt = () => {
      // A place on the page, such as #Metrics, is no choice.
      if (/^#[\w-]+$/.test(location.hash)) return;
      if (location.hash !== write(this.state, this.header)) this.adopt();
    };
    addEventListener("popstate", adopt);
    addEventListener("hashchange", adopt);
    let waiting = 0;
    addEventListener("resize", () => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => {
        this.plot.measure();
        this.showChart();
      });
    });
    this.printing();
  }

  // Paper is light, whatever the screen is.
  printing() {
    const { documentElement: html } = document;
    let before;
    addEventListener("beforeprint", () => {
      before = html.dataset.theme;
      html.dataset.theme = "light";
      this.plot.draw();
    });
    addEventListener("afterprint", () => {
      if (before) html.dataset.theme = before;
      else delete html.dataset.theme;
    });
  }

  adopt() {
    this.state = read(location.hash, this.header);
    this.update();
  }

  // A choice is one step of the browser's history; typing is none.
  change(patch, typed = false) {
    this.state = { ...this.state, ...("page" in patch || "columns" in patch ? {} : { page: 1 }), ...patch };
    const address = write(this.state, this.header) || location.pathname + location.search;
    history[typed ? "replaceState" : "pushState"](null, "", address);
    this.update();
  }

  // What is chosen for comparison changes neither chart nor table, and is no step of the history.
  pick(picks) {
    this.state = { ...this.state, picks };
    history.replaceState(null, "", write(this.state, this.header) || location.pathname + location.search);
    this.picks.show(picks);
  }

  trouble(what, error) {
    this.at.trouble.textContent = `${what}: ${error.message}. Try again when the site can be reached.`;
  }

  async update() {
    const turn = (this.turn = {});
    const { state } = this;
    this.filter.apply(state);
    this.showControls();
    this.facets.show(state);
    showChips(this.at.chips, state, this.header, (name, word) => this.wordLabel(name, word), (patch) => this.change(patch));
    this.showChart();
    this.at.trouble.textContent = "";
    try {
      await this.results.need([...NAMES, ...(state.sort ? [state.sort.name] : []), ...state.columns]);
    } catch (error) {
      this.at.count.textContent = `The results could not be loaded: ${error.message}`;
      this.at.failed.hidden = false;
      return;
    }
    this.at.failed.hidden = true;
    // What is searched for may occur in titles, which came later.
    if (!this.named) {
      this.named = true;
      if (state.q) {
        this.filter.forget("words");
        this.filter.apply(state);
        this.facets.show(state);
        this.showChart();
      }
    }
    if (turn === this.turn) this.showTable();
  }

  wordLabel(name, word) {
    if (word === null) return "not stated";
    const column = this.results.column(name);
    const code = column.codeOf(word);
    return code ? column.wordLabel(code) : word;
  }

  showControls() {
    const { at, state } = this;
    const counts = this.filter.counts("metric");
    const metric = this.results.column("metric");
    for (const each of at.metric.options) {
      if (each.value === "*") continue;
      const text = `${this.header.metrics[each.value].title} (${counted(counts[metric.codeOf(each.value)])})`;
      if (each.textContent !== text) each.textContent = text;
    }
    at.metric.value = state.metric;
    if (at.q.value !== state.q) at.q.value = state.q;
    at.all.checked = state.all;
    for (const box of at.chooser.querySelectorAll("input")) box.checked = state.columns.includes(box.value);
  }

  // --- the chart --------------------------------------------------------------------------------

  showChart() {
    const { at, state, results } = this;
    const frontier = state.view === "frontier";
    const drawn = frontier || state.metric !== "*";
    const rows = this.filter.among(this.order(null));
    const several = frontier && distinct(results.column("model"), rows, 2).length > 1;
    const choice = this.choice(drawn ? rows : rows.subarray(0, 0));
    this.pool = choice.pool;
    at.view.value = state.view;
    for (const key of ["x", "y", "stat", "logx", "logy"]) at[key].disabled = !drawn || (frontier && !key.startsWith("log"));
    for (const key of ["by", "pool"]) at[key].disabled = !drawn;
    at.x.value = choice.x;
    at.y.value = choice.y;
    at.by.value = choice.by;
    const names = this.names(choice);
    const scene = drawn && !several ? makeScene(results, rows, choice, this.plot.size) : null;
    for (const key of ["png", "svg"]) at[key].disabled = !scene?.count;
    at.logx.checked = Boolean(scene?.x?.log);
    at.logy.checked = Boolean(scene?.y?.log);
    at.caption.textContent = drawn ? `${names.title}` : "";
    at.note.textContent = scene ? this.note(scene, choice, names) : several ? "" : "Choose a metric to see a chart: figures of two metrics share no axis.";
    at.ask.hidden = !several;
    at.plot.hidden = several;
    if (several) askForModel(at.ask, this, rows, (patch) => this.change(patch));
    this.plot.show(scene, names);
    document.getElementById("kb-explore").dataset.ready = "";
    performance.mark("kb-chart");
  }

  // What is drawn: what was chosen, else what most rows have.
  choice(rows) {
    const { at, state, results } = this;
    const classes = pools(results, rows);
    const open = classes.find(([word]) => word === null);
    const most = classes.reduce((best, each) => (best && best[1] >= each[1] ? best : each), open);
    const pool = state.pool ? decodeWord("comparison_class", state.pool) : open ? null : (most?.[0] ?? null);
    const inPool = rows.filter(this.inPool(pool));
    const kinds = statisticKinds(results, inPool);
    const stat = state.stat || (kinds[0]?.[0] ?? "mean");
    fillOptions(at.pool, classes.map(([word, count]) => [encodeWord("comparison_class", word), `${word === null ? "none: compares freely" : word} (${counted(count)})`]), encodeWord("comparison_class", pool));
    fillOptions(at.stat, kinds.map(([kind, count]) => [kind, `${kind === "mean" ? "mean, single run or not stated" : kind} (${counted(count)})`]), stat);
    return { ...state, pool, stat, x: state.x || usualAxis(results, inPool) };
  }

  inPool(pool) {
    const column = this.results.column("comparison_class");
    const code = pool === null ? 0 : column.codeOf(pool);
    return (row) => column.codes[row] === code;
  }

  names(choice) {
    const { titles, metrics } = this.header;
    const by = titles[choice.by];
    if (choice.view === "frontier") {
      const y = "Output throughput per accelerator, tok/s";
      const x = "Speed per user, tok/s";
      return { x, y, by, xShort: "tok/s per user", title: `${y}, against ${x.toLowerCase()}` };
    }
    const metric = metrics[choice.metric] ?? { title: "", about: "", shown_unit: "" };
    const per = choice.y === "per_accelerator" ? " per accelerator" : "";
    const y = `${metric.title}${per}${metric.shown_unit ? `, ${metric.shown_unit}` : ""}`;
    const about = per ? "" : metric.about && ` (${metric.about})`;
    const x = lowered(titles[choice.x]);
    return { x: titles[choice.x], y, by, xShort: x, title: `${y}${about}, by ${x}` };
  }

  note(scene, choice, names) {
    const { left } = scene;
    const said = [`${counted(scene.count)} ${scene.count === 1 ? "point" : "points"}.`];
    if (scene.dense) said.push(`Above ${counted(MOST_DOTS)} points darkness is their number, and nothing is joined.`);
    else if (choice.view !== "scatter") said.push(`${counted(scene.lines.length)} ${scene.lines.length === 1 ? "line joins" : "lines join"} points of one sweep: one record and one setup.`);
    if (choice.view === "frontier") said.push("One configuration is one point, whose record gives both figures; up and right is better.");
    else if (this.header.metrics[choice.metric].direction !== "neither") said.push(`${this.header.metrics[choice.metric].direction === "higher" ? "Higher" : "Lower"} is better.`);
    if (!scene.dense) said.push("Hollow: draft. Crossed: disputed.");
    const gone = [
      [left.class, "of another comparison class"],
      [left.statistic, "of another statistic"],
      [left.y, choice.view === "frontier" || choice.y === "per_accelerator" ? "without a figure per accelerator" : "without a single value"],
      [left.x, `without ${choice.view === "frontier" ? "a speed per user of the same configuration" : names.xShort}`],
      [left.fallen, "withdrawn or superseded"],
    ].filter(([count]) => count);
    if (gone.length) said.push(`Not drawn: ${gone.map(([count, why]) => `${counted(count)} ${why}`).join(", ")}.`);
    const family = this.results.family(choice.pool);
    if (family) said.push(family.line);
    return said.join(" ");
  }

  // --- the table --------------------------------------------------------------------------------

  // All rows in an order, made once.
  order(sort) {
    const frontier = this.state.view === "frontier";
    const key = sort ? `${frontier} ${sort.descending} ${sort.name}` : "";
    if (!this.orders.has(key)) {
      const rows = key ? this.order(null) : Uint32Array.from({ length: this.results.rows }, (_, row) => row);
      this.orders.set(key, ordered(this.results, sort, rows, frontier));
    }
    return this.orders.get(key);
  }

  // The best first, of one metric; of several in the order of the records.
  sort() {
    const { metric, sort } = this.state;
    if (this.state.view === "frontier") return sort ?? { name: "per_accelerator", descending: true };
    if (sort || metric === "*") return sort;
    return { name: "value", descending: this.header.metrics[metric].direction !== "lower" };
  }

  // Of a frontier the points, and no row that is none.
  rows() {
    const rows = this.filter.among(this.order(this.sort()));
    return this.state.view === "frontier" ? rows.filter(this.inPool(this.pool)) : rows;
  }

  showTable() {
    const { at, results, state } = this;
    const frontier = state.view === "frontier";
    const rows = this.rows();
    const several = (name) => distinct(results.column(name), rows, 2);
    const mixed = ["statistic", "comparison_class"].filter((name) => several(name).length > 1);
    const front = [...(state.metric === "*" && !frontier ? ["metric"] : []), ...mixed, ...(frontier ? FRONTIER : [])];
    const shown = this.grid.show(frontier ? { ...state, columns: state.columns.filter((name) => name !== "value") } : state, this.sort(), rows, front);
    at.count.textContent = rows.length ? `${counted(rows.length)} of ${counted(results.rows)} results${frontier ? ", one a configuration with both figures" : ""}` : "No result has all of this";
    at.order.textContent = this.orderText(mixed, several("statistic"));
    at.empty.hidden = rows.length > 0;
    if (!rows.length) showEmpty(at.empty, this, (patch) => this.change(patch));
    this.picks.show(state.picks);
    const pool = results.column("comparison_class");
    const families = new Set(Array.from(shown, (row) => results.family(pool.text(row))).filter(Boolean));
    at.lines.replaceChildren(...Array.from(families, ({ line }) => element("p", { class: "kb-section__note" }, line)));
    at.csv.disabled = at.json.disabled = rows.length === 0;
    document.getElementById("kb-explore").setAttribute("aria-busy", "false");
    performance.mark("kb-table");
  }

  // What a reader has to know of the order, and of a statistic that no column shows since all rows have it.
  orderText(mixed, statistics) {
    const said = [];
    const sort = this.sort();
    if (mixed.includes("comparison_class") && sort && this.header.measures.includes(sort.name)) said.push("Figures of two comparison classes do not compare: each class is sorted by itself, those that compare freely first.");
    const word = statistics.length === 1 && statistics[0] ? this.results.column("statistic").words[statistics[0] - 1] : "";
    if (word) said.push(`Statistic of all: ${word}.`);
    return said.join(" ");
  }

  async take(format) {
    const { header, results, state } = this;
    const columns = [...header.exported, ...(state.view === "frontier" ? ["user_tok_s"] : [])];
    this.at.trouble.textContent = "";
    try {
      await results.need(columns);
    } catch (error) {
      this.trouble("The file could not be made, since the rest of the results could not be loaded", error);
      return;
    }
    const rows = this.rows();
    if (format === "csv") save("results.csv", csv(results, rows, columns), "text/csv;charset=utf-8");
    else save("results.json", json(results, rows, columns), "application/json");
  }

  // What a chart says away from its page.
  said() {
    const { at, header, host, state } = this;
    const { kbSite, kbUrl, kbLicence } = host.dataset;
    const chosen = header.facets.filter((name) => state.facets[name]?.length);
    const filters = chosen.map((name) => `${header.titles[name]}: ${state.facets[name].map((word) => this.wordLabel(name, word)).join(" or ")}`);
    if (state.q.trim()) filters.push(`Words: ${state.q.trim()}`);
    if (state.view !== "frontier") filters.push(`Statistic: ${at.stat.selectedOptions[0]?.textContent}`);
    filters.push(`Comparison class: ${at.pool.selectedOptions[0]?.textContent}`, `Colour: ${header.titles[state.by]}`);
    const hash = write({ ...state, picks: [] }, header);
    const address = new URL(`explore.html${hash}`, kbUrl || root).href;
    const today = new Date().toISOString().slice(0, 10);
    return {
      title: at.caption.textContent,
      filters: `${filters.join(". ")}.`,
      notes: at.note.textContent,
      source: [`${kbSite}, ${address}`, `Data of ${header.day}, drawn on ${today}. Licence: ${kbLicence}`],
    };
  }
}

// `Concurrency` becomes `concurrency`, `TP` stays.
function lowered(title) {
  return /^[A-Z][a-z]/.test(title) ? title[0].toLowerCase() + title.slice(1) : title;
}

function fillOptions(select, entries, chosen) {
  const wanted = entries.some(([value]) => value === chosen) ? entries : [...entries, [chosen, chosen === "~" ? "none" : chosen]];
  select.replaceChildren(...wanted.map(([value, text]) => option(value, text)));
  select.value = chosen;
}

async function start(host) {
  host.querySelector(".kb-x__filters").open = matchMedia(WIDE).matches;
  const results = await Results.open(new URL("data/explore/", root));
  return new Explorer(host, results);
}

const host = document.getElementById("kb-explore");
if (host) {
  start(host).catch((error) => {
    host.querySelector("[data-x=count]").textContent = `The results could not be loaded: ${error.message}`;
    host.querySelector("[data-x=failed]").hidden = false;
    host.dataset.failed = "";
    host.setAttribute("aria-busy", "false");
    console.error(error);
  });
}
