/*
The page of comparisons: what was named, the verdicts, and the results side by side with what their records and sources say
of them. All of it comes from the data files of the records, those of what they refer to included.
*/

import { heldAgainst, metricOf, nameOf, own, sentenceOf, unpacked } from "../compare.js";
import { grouped } from "../explore/columns.js";
import { Finder, namesIn } from "./find.js";

const root = new URL("../../", import.meta.url);
const MOST = 6;
const REFERENCE = /^[a-z]+\/[a-z0-9][a-z0-9-]*$/;
const DIGITS = 5; // of a figure that was worked out

export class Comparison {
  constructor(host) {
    const part = (name) => host.querySelector(`[data-kb-compare-${name}]`);
    this.out = part("out");
    this.status = part("status");
    this.faults = part("faults");
    this.found = part("found");
    this.field = part("field");
    this.finder = new Finder(root);
    this.files = new Map();
    part("add").addEventListener("click", () => this.add());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.add();
    });
    addEventListener("popstate", () => this.show());
    this.show();
  }

  names() {
    const given = new URLSearchParams(location.search).get("ids") || "";
    return Array.from(new Set(given.split(",").map((name) => name.trim()).filter(Boolean)));
  }

  // The result to divide by, where a reader has chosen one.
  base() {
    return new URLSearchParams(location.search).get("by") || "";
  }

  go(names, base = this.base()) {
    const ids = names.map(written).join(",");
    const by = base && names.includes(base) ? `&by=${written(base)}` : "";
    history.pushState(null, "", ids ? `?ids=${ids}${by}` : location.pathname);
    this.show();
  }

  // --- what is typed ----------------------------------------------------------------------------

  async add() {
    const text = this.field.value.trim();
    this.found.replaceChildren();
    if (!text) return;
    const named = namesIn(text);
    if (named) {
      this.take(named);
      return;
    }
    this.found.replaceChildren(make("p", "", "Looking \u2026"));
    try {
      const found = await this.finder.find(text);
      if (this.field.value.trim() !== text) return;
      if (found.names) this.take(found.names);
      else this.list(text, found);
    } catch (error) {
      this.found.replaceChildren(make("p", "", `The results could not be searched: ${error.message}. An id or an address of a page works without.`));
    }
  }

  take(names) {
    this.field.value = "";
    this.found.replaceChildren();
    this.go([...this.names(), ...names]);
  }

  list(text, { count, records }) {
    if (!count) {
      this.found.replaceChildren(make("p", "", `No result has the words \u201c${text}\u201d. An id, the address of a page, or words of a title, model, engine or accelerator will do.`));
      return;
    }
    const all = make("a", "", `All ${grouped(String(count))} in the explorer`);
    all.href = new URL(`explore.html#${new URLSearchParams({ metric: "*", q: text })}`, root);
    const said = make("p", "", "Choose a result: ");
    said.append(all);
    const items = records.map(({ title, results, more }) => {
      const item = make("li");
      const list = make("ul");
      list.append(...results.map(({ name, text: figure }) => {
        const button = make("button", "kb-button", figure);
        button.type = "button";
        button.setAttribute("aria-label", `Add ${figure}, of ${title}`);
        button.addEventListener("click", () => {
          this.take([name]);
          this.field.focus();
        });
        const one = make("li");
        one.append(button);
        return one;
      }));
      if (more) list.append(make("li", "", `and ${grouped(String(more))} more`));
      item.append(make("strong", "", title), list);
      return item;
    });
    const list = make("ul");
    list.append(...items);
    this.found.replaceChildren(said, list);
  }

  // --- what is shown ----------------------------------------------------------------------------

  async show() {
    const names = this.names();
    this.out.replaceChildren();
    this.faults.replaceChildren();
    this.say(names.length ? "Loading" : "Name two results to compare.");
    if (!names.length) return;
    try {
      this.rules ??= await (await fetch(new URL("data/comparison-rules.json", root))).json();
      const shown = names.slice(0, MOST);
      const loaded = await Promise.allSettled(shown.map((name) => this.load(name)));
      const sides = loaded.filter((each) => each.status === "fulfilled").map((each) => each.value);
      const titles = await this.titles(sides);
      if (this.names().join() !== names.join()) return;
      const failed = loaded.map((each, at) => [shown[at], each.reason?.message]).filter(([, why]) => why);
      failed.push(...names.slice(MOST).map((name) => [name, `${name} is one too many: ${MOST} results at most stand side by side`]));
      const said = [`${sides.length} results`, ...failed.map(([, why]) => why), ...(sides.length < 2 ? ["name at least two results"] : [])];
      this.say(said.join("; "));
      this.faults.replaceChildren(...failed.map(([name]) => this.fault(name)));
      this.out.replaceChildren(...this.verdicts(sides), ...(sides.length ? [this.table(sides, titles)] : []));
    } catch (error) {
      this.say(`The records could not be loaded: ${error.message}`);
    }
  }

  say(text) {
    this.status.textContent = text;
  }

  without(name) {
    this.go(this.names().filter((each) => each !== name));
  }

  // A name that shows nothing can be taken out of the address.
  fault(name) {
    const item = make("li");
    item.append(make("span", "", name), this.remove(name));
    return item;
  }

  remove(name) {
    const button = make("button", "kb-button", "Remove");
    button.type = "button";
    button.setAttribute("aria-label", `Remove ${name}`);
    button.addEventListener("click", () => {
      this.without(name);
      this.field.focus(); // the button is gone, and the focus with it
    });
    return button;
  }

  async load(name) {
    const [ref, anchor = ""] = name.split("#");
    if (!/^benchmarks\/[a-z][a-z0-9-]*$/.test(ref)) throw new Error(`${name} names no benchmark: write benchmarks/id#result`);
    const file = await this.file(ref);
    const wanted = anchor || file.record.headline;
    const sides = unpacked(file.comparison);
    const side = sides.find((each) => each.result === wanted) ?? (anchor ? undefined : sides[0]);
    if (!side) throw new Error(`${ref} has no result ${wanted}`);
    const result = file.record.results.find((each) => each.id === side.result);
    return { name, side, record: file.record, result, evidence: result?.evidence?.[0], status: file.status };
  }

  file(ref) {
    if (!this.files.has(ref)) {
      const reading = read(ref);
      reading.catch(() => this.files.delete(ref)); // the next one who asks tries again
      this.files.set(ref, reading);
    }
    return this.files.get(ref);
  }

  // The records that the sides refer to, by reference; what cannot be had is left out and its reference shown.
  async titles(sides) {
    const texts = sides.flatMap(({ side, evidence }) => [side.model, evidence?.source, ...Object.values(side.settings)]);
    const refs = Array.from(new Set(texts.filter((text) => typeof text === "string" && REFERENCE.test(text))));
    const loaded = await Promise.allSettled(refs.map((ref) => this.file(ref)));
    return new Map(refs.map((ref, at) => [ref, loaded[at].value?.record]).filter(([, record]) => record));
  }

  // Each of the others against the one to divide by; until one is chosen, the first against each of the others.
  verdicts(sides) {
    const base = sides.find((each) => each.name === this.base());
    const pairs = base ? sides.filter((each) => each !== base).map((each) => [each, base]) : sides.slice(1).map((each) => [sides[0], each]);
    return pairs.map(([one, other]) => {
      const found = heldAgainst(this.rules, one.side, other.side);
      const line = make("p", "kb-verdict");
      line.dataset.kbVerdict = found.verdict;
      line.append(make("strong", "", `${one.side.result} against ${other.side.result}`), `: ${sentenceOf(found)}`);
      return line;
    });
  }

  table(sides, titles) {
    const names = this.rules.settings;
    const rows = names
      .map((name) => ({ name, values: sides.map((each) => own(each.side.settings, name) ?? "") }))
      .filter((row) => row.values.some(Boolean));
    for (const row of rows) row.differs = new Set(row.values).size > 1;
    rows.sort((a, b) => b.differs - a.differs || names.indexOf(a.name) - names.indexOf(b.name));
    const table = make("table", "kb-table");
    const head = table.createTHead().insertRow();
    head.append(make("th", "", "What"), ...sides.map((each) => this.heading(each, sides)));
    const body = table.createTBody();
    const metric = (each) => metricOf(this.rules, each.side.metric)?.title ?? each.side.metric;
    const row = (name, values, differs, key = "") => addRow(body, titles, name, values, differs, key);
    row("Figure", sides.map((each) => each.side.figure));
    row("Per accelerator", sides.map((each) => this.perAccelerator(each.side)));
    row("Metric", sides.map(metric));
    row("Statistic", sides.map((each) => each.side.statistic));
    row("Model", sides.map((each) => each.side.model));
    for (const each of rows) row(each.name, each.values, each.differs, "setting");
    row("Status of the record", sides.map((each) => each.status));
    row("Confidence as stated", sides.map(({ record }) => confidence(record.confidence)));
    row("Publisher", sides.map(({ evidence }) => titles.get(evidence?.source)?.publisher));
    row("Measured", sides.map(({ record }) => record.measured?.day ?? record.measured?.period));
    row("Source", sides.map(({ evidence }) => evidence?.source));
    // Every figure has a place of its own: that two differ says nothing.
    row("Place in the source", sides.map(({ evidence }) => evidence?.locator), false);
    row("Quote", sides.map(({ evidence }) => evidence?.quote && `\u201c${evidence.quote}\u201d`), false);
    const scroller = make("div", "kb-scroll");
    scroller.setAttribute("role", "region");
    scroller.setAttribute("aria-label", "Results side by side");
    scroller.tabIndex = 0;
    scroller.append(table);
    return scroller;
  }

  perAccelerator(side) {
    if (!side.per_accelerator) return side.why_not ? `none: ${side.why_not}` : "";
    const metric = metricOf(this.rules, side.metric);
    const figure = side.formula ? `${grouped(String(Number(Number(side.per_accelerator).toPrecision(DIGITS))))}${metric ? ` ${metric.unit}` : ""}` : side.figure;
    return side.formula ? `${figure} (${side.formula})` : `${figure}, as published`;
  }

  heading(each, sides) {
    const cell = make("th");
    cell.scope = "col";
    const link = make("a", "", each.record.title);
    link.href = new URL(`${each.side.ref}.html#${each.side.result}`, root);
    cell.append(link, make("small", "", ` ${each.side.result} `), this.remove(each.name));
    if (sides.length > 1) cell.append(this.divider(each, sides));
    return cell;
  }

  divider(each, sides) {
    const label = make("label", "kb-compare__by");
    const box = make("input");
    box.type = "radio";
    box.name = "kb-compare-by";
    // Of two, the second divides.
    box.checked = this.base() ? this.base() === each.name : sides.length === 2 && each === sides[1];
    box.setAttribute("aria-label", `Divide by ${nameOf(each.side)}`);
    box.addEventListener("change", () => this.go(this.names(), each.name));
    label.append(box, "Divide by this");
    return label;
  }
}

function written(name) {
  return encodeURIComponent(name).replaceAll("%2F", "/");
}

async function read(ref) {
  const response = await fetch(new URL(`data/records/${ref}.json`, root));
  if (!response.ok) throw new Error(`there is no record ${ref}`);
  return response.json();
}

function confidence(stated) {
  return stated ? [stated.score, stated.label].filter((each) => each !== null && each !== undefined).join(", ") : "";
}

function addRow(body, titles, name, values, differs, key) {
  const line = body.insertRow();
  const different = differs ?? new Set(values).size > 1;
  if (different) line.className = "kb-differs";
  if (key) line.dataset.kbRow = key;
  const head = make("th", "", name);
  head.scope = "row";
  line.append(head);
  for (const value of values) {
    const cell = make("td", value ? "" : "kb-gap");
    const record = titles.get(value);
    if (record) {
      const link = make("a", "", record.title);
      link.href = new URL(`${value}.html`, root);
      cell.append(link);
    } else cell.textContent = value || "not stated";
    line.append(cell);
  }
}

function make(element, className = "", text = "") {
  const made = document.createElement(element);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
