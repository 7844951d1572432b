/*
The chart on the page: draws a scene, says what a point is under the pointer or by arrow keys, and has the same
points as a table. Without a pointer and without sight nothing is lost.
*/

import { counted, element } from "./dom.js";
import { figureText, plainNumber } from "./grid.js";
import { CanvasPen, MOST_CIRCLES, SvgPen, paint } from "./paint.js";
import { drawSheet } from "./sheet.js";

const NEAR = 24; // pixels from which a point is meant
const MOST_ROWS = 500; // of the table behind the chart
const SERIES = 8;

export class Plot {
  constructor(parts, results, root, picks, trouble) {
    this.parts = parts; // plot, tip, said, legend, points
    this.results = results;
    this.root = root;
    this.picks = picks;
    this.trouble = trouble; // says what went wrong
    [this.canvas, this.ring] = parts.plot.querySelectorAll("canvas");
    this.scene = null;
    this.active = -1;
    this.pinned = false; // whether the tip stays, with its link
    const { plot } = parts;
    plot.addEventListener("pointermove", (event) => this.hover(event));
    plot.addEventListener("pointerleave", () => {
      if (!this.pinned) this.leave();
    });
    plot.addEventListener("click", (event) => this.click(event));
    plot.addEventListener("keydown", (event) => this.key(event));
    plot.addEventListener("focusout", (event) => {
      if (!plot.contains(event.relatedTarget)) this.leave();
    });
    parts.points.addEventListener("toggle", () => this.table());
    const recolour = () => {
      this.known = null;
      this.draw();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.measure();
  }

  // Measured when the page changes its size and not at every choice: asking makes the browser lay out the page.
  measure() {
    const { clientWidth: width, clientHeight: height } = this.parts.plot;
    this.size = { width: Math.max(width, 240), height: Math.max(height, 200) };
  }

  show(scene, names) {
    this.scene = scene;
    this.names = names;
    this.order = null;
    this.leave();
    this.draw();
    this.legend();
    this.table();
    const { plot } = this.parts;
    plot.setAttribute("aria-label", scene ? `${names.y} against ${names.x}: ${counted(scene.count)} points` : "No chart");
    plot.classList.toggle("kb-x__plot--empty", !scene?.count);
  }

  draw() {
    if (!this.scene) {
      this.canvas.width = 0;
      return;
    }
    const pen = new CanvasPen(this.canvas, this.scene.size, Math.min(window.devicePixelRatio || 1, 2), this.scene.count > MOST_CIRCLES);
    paint(pen, this.scene, this.results, this.names, this.colours());
    this.mark();
  }

  // The colours of the sheet, as the browser resolves them for the scheme in force.
  colours() {
    this.known ??= this.resolved();
    return this.known;
  }

  resolved() {
    const probe = element("span", { hidden: "" });
    this.parts.plot.append(probe);
    const colour = (name) => {
      probe.style.color = `var(--kb-${name})`;
      return getComputedStyle(probe).color;
    };
    const series = ["", ...Array.from({ length: SERIES }, (_, at) => colour(`s${at + 1}`))];
    const found = { series, ground: colour("bg"), grid: colour("line"), axis: colour("line-strong"), muted: colour("muted"), ink: colour("ink"), red: colour("red") };
    probe.remove();
    return found;
  }

  legend() {
    const entries = this.scene?.count && !this.scene.dense ? this.scene.colour.legend : [];
    this.parts.legend.replaceChildren(
      ...entries.map(({ colour, label, count }) => {
        const text = element("span");
        text.textContent = `${label} (${counted(count)})`;
        return element("li", {}, element("span", { class: `kb-x__key kb-s${colour}`, "aria-hidden": "true" }), text);
      }),
    );
  }

  // --- which point is meant ---------------------------------------------------------------------

  nearest(event) {
    if (!this.scene?.count) return -1;
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top;
    const { px, py, count } = this.scene;
    let best = -1;
    let least = NEAR * NEAR;
    for (let at = 0; at < count; at += 1) {
      const apart = (px[at] - x) ** 2 + (py[at] - y) ** 2;
      if (apart < least) [best, least] = [at, apart];
    }
    return best;
  }

  hover(event) {
    if (event.pointerType === "touch" || this.pinned) return;
    this.choose(this.nearest(event), false);
  }

  // A first click or tap keeps the tip, with a link and a box in it; a second one on the same point opens the record.
  click(event) {
    if (this.parts.tip.contains(event.target)) return;
    const at = this.nearest(event);
    if (at >= 0 && (event.ctrlKey || event.metaKey || (this.pinned && at === this.active))) this.open(at, event);
    else this.pin(at);
  }

  leave() {
    this.pinned = false;
    this.choose(-1, false);
  }

  async pin(at) {
    this.leave();
    if (at < 0) return;
    this.pinned = true;
    this.choose(at, false);
    const { scene } = this;
    if (!(await this.named()) || !this.pinned || scene !== this.scene || at !== this.active) return;
    const row = scene.rows[at];
    const link = element("a", { href: this.address(row) }, "Open the record");
    this.tip(at, element("div", { class: "kb-x__steps" }, link, element("span", {}, this.picks.box(row), "Compare")));
  }

  // Whether the names of results are there, which come after the first chart.
  async named() {
    try {
      await this.results.need(["ref", "result", "page"]);
      return true;
    } catch (error) {
      this.trouble("The record could not be found", error);
      return false;
    }
  }

  address(row) {
    return new URL(this.results.place(row), this.root).href;
  }

  choose(at, aloud) {
    if (at === this.active && at >= 0 && !this.pinned) return;
    const redraw = this.active >= 0 || at >= 0;
    this.active = at;
    const { tip, plot, said } = this.parts;
    plot.classList.toggle("kb-x__plot--point", at >= 0);
    if (at < 0) {
      tip.hidden = true;
      if (redraw) this.mark();
      return;
    }
    this.tip(at);
    if (aloud) said.textContent = `${this.about(at).join(", ")}. ${this.order.indexOf(at) + 1} of ${this.scene.count}`;
    this.mark();
  }

  tip(at, ...more) {
    const { tip } = this.parts;
    const lines = this.about(at).map((line, index) => {
      const part = element(index ? "span" : "strong");
      part.textContent = line;
      return part;
    });
    tip.replaceChildren(...lines, ...more);
    tip.hidden = false;
    tip.classList.toggle("kb-x__tip--pinned", more.length > 0);
    // In the corner that is farthest from the point, so that it never hides what it tells of.
    tip.classList.toggle("kb-x__tip--right", this.scene.px[at] < this.scene.size.width / 2);
    tip.classList.toggle("kb-x__tip--low", this.scene.py[at] < this.scene.size.height / 2);
  }

  // A ring around the point that is meant, on a layer of its own so that nothing is drawn anew.
  mark() {
    const { width, height } = this.scene?.size ?? { width: 0, height: 0 };
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.ring.width = Math.round(width * ratio);
    this.ring.height = Math.round(height * ratio);
    if (this.active < 0) return;
    const to = this.ring.getContext("2d");
    to.scale(ratio, ratio);
    to.beginPath();
    to.arc(this.scene.px[this.active], this.scene.py[this.active], 7, 0, 2 * Math.PI);
    to.lineWidth = 2;
    to.strokeStyle = getComputedStyle(this.parts.plot).color;
    to.stroke();
  }

  about(at) {
    const { results, scene } = this;
    const row = scene.rows[at];
    const said = (name) => results.column(name).label(row);
    const state = [said("status"), said("standing")].filter((each) => each && each !== "stands").join(", ");
    return [
      `${this.valueText(row, at)}`,
      results.has("ref") ? `${said("ref")}, ${said("result")}` : "",
      [said("accelerators_serving") ? `${said("accelerators_serving")} \u00d7 ${said("accelerator")}` : said("accelerator"), said("engine")].filter(Boolean).join(", "),
      [said("model"), said("weight_dtype"), said("speculation") ? `speculation ${said("speculation")}` : ""].filter(Boolean).join(", "),
      this.load(row),
      [said("publisher"), said("measured_by"), said("statistic"), state].filter(Boolean).join(", "),
    ].filter(Boolean);
  }

  load(row) {
    const said = (name) => this.results.column(name).label(row);
    return [
      ["concurrency", "in flight"], ["request_rate_req_s", "req/s"], ["input_tok", "input tok"], ["output_tok", "output tok"],
      ["depth_tok", "tok before the input"],
    ].filter(([name]) => said(name) !== null).map(([name, noun]) => `${said(name)} ${noun}`).join(", ");
  }

  valueText(row, at) {
    const { results, scene } = this;
    const { shown_unit: unit } = results.metric(row);
    if (scene.choice.view === "frontier") {
      return `${results.column("per_accelerator").label(row)} tok/s per accelerator at ${results.column("user_tok_s").label(row)} tok/s per user`;
    }
    const name = scene.choice.y;
    const per = name === "per_accelerator" ? " per accelerator" : "";
    return `${figureText(results, row, name)}${unit ? ` ${unit}` : ""}${per} at ${plainNumber(scene.xs[at])} ${this.names.xShort}`;
  }

  key(event) {
    const { count } = this.scene ?? {};
    if (event.key === "Escape") {
      this.leave();
      this.parts.plot.focus({ preventScroll: true });
      return;
    }
    if (!count || event.ctrlKey || event.metaKey || event.altKey || event.target !== this.parts.plot) return;
    // From left to right; points above one another from the bottom up.
    this.order ??= Array.from({ length: count }, (_, at) => at).sort((a, b) => this.scene.xs[a] - this.scene.xs[b] || this.scene.ys[a] - this.scene.ys[b] || a - b);
    const here = this.active < 0 ? -1 : this.order.indexOf(this.active);
    const moves = { ArrowRight: here + 1, ArrowUp: here + 1, ArrowLeft: here < 0 ? count - 1 : here - 1, ArrowDown: here < 0 ? count - 1 : here - 1, Home: 0, End: count - 1, PageDown: here + 20, PageUp: here - 20 };
    if (Object.hasOwn(moves, event.key)) {
      event.preventDefault();
      this.pinned = false;
      this.choose(this.order[Math.max(0, Math.min(count - 1, moves[event.key]))], true);
    } else if (event.key === "Enter" && this.active >= 0) {
      event.preventDefault();
      this.open(this.active, event);
    } else if (event.key === " " && this.active >= 0) {
      event.preventDefault();
      this.pick(this.active);
    }
  }

  async pick(at) {
    const { scene } = this;
    if (!(await this.named())) return;
    const name = this.results.name(scene.rows[at]);
    this.picks.toggle(name);
    this.parts.said.textContent = this.picks.has(name) ? "Taken into the comparison" : "Not in the comparison";
  }

  async open(at, event) {
    if (at < 0) return;
    const row = this.scene.rows[at];
    if (!(await this.named())) return;
    const address = this.address(row);
    if (event.ctrlKey || event.metaKey) window.open(address, "_blank", "noopener");
    else location.assign(address);
  }

  // --- the same as a table, and as a file -------------------------------------------------------

  table() {
    const { points } = this.parts;
    const host = points.querySelector(".kb-scroll");
    if (!points.open) {
      host.replaceChildren();
      return;
    }
    const { scene } = this;
    const rows = Array.from({ length: Math.min(scene?.count ?? 0, MOST_ROWS) }, (_, at) => this.point(at));
    const heads = ["Record", "Load", this.names.x, this.names.y, this.names.by, "Line", "Status"];
    const caption = element("caption", { class: "kb-sr" });
    caption.textContent = (scene?.count ?? 0) > MOST_ROWS ? `The first ${MOST_ROWS} of ${counted(scene.count)} points` : "All points of the chart";
    host.replaceChildren(element("table", { class: "kb-table" }, caption, element("thead", {}, element("tr", {}, ...heads.map((head, at) => element("th", { scope: "col", class: at === 2 || at === 3 ? "kb-r" : null }, head)))), element("tbody", {}, ...rows)));
    if ((scene?.count ?? 0) > MOST_ROWS) host.append(element("p", { class: "kb-section__note" }, `${caption.textContent}; the rest is in the results below.`));
  }

  // One row of that table.
  point(at) {
    const { results, scene } = this;
    const row = scene.rows[at];
    const isNamed = results.has("ref");
    const link = isNamed ? element("a", { href: this.address(row) }) : element("span");
    link.textContent = isNamed ? results.column("ref").label(row) : `row ${row + 1}`;
    const result = element("small");
    result.textContent = isNamed ? results.column("result").text(row) : "";
    const name = element("div", { class: "kb-x__name" }, ...(isNamed ? [this.picks.box(row)] : []), element("div", {}, link, result));
    const line = scene.lines.findIndex((each) => each.includes(at));
    const numbers = [plainNumber(scene.xs[at]), plainNumber(scene.ys[at])].map((text) => element("td", { class: "kb-r" }, text));
    const texts = [results.column(scene.choice.by).label(row) ?? "not stated", line < 0 ? "" : String(line + 1), results.column("status").label(row) ?? ""];
    return element("tr", { class: results.isDraft(row) ? "kb-is-draft" : null }, element("th", { scope: "row", class: "kb-wrap" }, name), element("td", {}, this.load(row)), ...numbers, ...texts.map((text) => element("td", {}, text)));
  }

  svg(said) {
    return drawSheet((size) => new SvgPen(size, said.title), this.scene, this.results, this.names, this.colours(), said).done();
  }

  png(said) {
    const canvas = document.createElement("canvas");
    drawSheet((size) => new CanvasPen(canvas, size, 2, this.scene.count > MOST_CIRCLES), this.scene, this.results, this.names, this.colours(), said);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }
}
