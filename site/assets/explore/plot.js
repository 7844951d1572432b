/*
The chart on the page: draws a scene, says what a point is under the pointer or by arrow keys, and has the same
points as a table. Without a pointer and without sight nothing is lost.
*/

import { counted, element } from "./dom.js";
import { figureText, plainNumber } from "./grid.js";
import { CanvasPen, MOST_CIRCLES, SvgPen, paint } from "./paint.js";

const NEAR = 24; // pixels from which a point is meant
const MOST_ROWS = 500; // of the table behind the chart
const SERIES = 8;

export class Plot {
  constructor(parts, results, root) {
    this.parts = parts; // plot, tip, said, legend, points
    this.results = results;
    this.root = root;
    [this.canvas, this.ring] = parts.plot.querySelectorAll("canvas");
    this.scene = null;
    this.active = -1;
    const { plot } = parts;
    plot.addEventListener("pointermove", (event) => this.hover(event));
    plot.addEventListener("pointerleave", () => this.leave());
    plot.addEventListener("click", (event) => this.open(this.nearest(event), event));
    plot.addEventListener("keydown", (event) => this.key(event));
    plot.addEventListener("blur", () => this.leave());
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
    if (event.pointerType === "touch") return;
    this.choose(this.nearest(event), false);
  }

  leave() {
    this.choose(-1, false);
  }

  choose(at, aloud) {
    if (at === this.active && at >= 0) return;
    const redraw = this.active >= 0 || at >= 0;
    this.active = at;
    const { tip, plot, said } = this.parts;
    plot.classList.toggle("kb-x__plot--point", at >= 0);
    if (at < 0) {
      tip.hidden = true;
      if (redraw) this.mark();
      return;
    }
    const lines = this.about(at);
    tip.replaceChildren(...lines.map((line, index) => {
      const part = element(index ? "span" : "strong");
      part.textContent = line;
      return part;
    }));
    tip.hidden = false;
    // In the corner that is farthest from the point, so that it never hides what it tells of.
    tip.classList.toggle("kb-x__tip--right", this.scene.px[at] < this.scene.size.width / 2);
    tip.classList.toggle("kb-x__tip--low", this.scene.py[at] < this.scene.size.height / 2);
    if (aloud) said.textContent = `${lines.join(", ")}. ${this.order.indexOf(at) + 1} of ${this.scene.count}`;
    this.mark();
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
    const load = [
      ["concurrency", "in flight"], ["request_rate_req_s", "req/s"], ["input_tok", "input tok"], ["output_tok", "output tok"],
    ].filter(([name]) => said(name) !== null).map(([name, noun]) => `${said(name)} ${noun}`);
    return [
      `${this.valueText(row, at)}`,
      results.has("ref") ? said("ref") : "",
      [said("accelerators_serving") ? `${said("accelerators_serving")} \u00d7 ${said("accelerator")}` : said("accelerator"), said("engine")].filter(Boolean).join(", "),
      [said("model"), said("weight_dtype"), said("speculation") ? `speculation ${said("speculation")}` : ""].filter(Boolean).join(", "),
      load.join(", "),
      [said("publisher"), said("measured_by"), said("statistic"), state].filter(Boolean).join(", "),
    ].filter(Boolean);
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
    if (!count || event.ctrlKey || event.metaKey || event.altKey) return;
    // From left to right; points above one another from the bottom up.
    this.order ??= Array.from({ length: count }, (_, at) => at).sort((a, b) => this.scene.xs[a] - this.scene.xs[b] || this.scene.ys[a] - this.scene.ys[b] || a - b);
    const here = this.active < 0 ? -1 : this.order.indexOf(this.active);
    const moves = { ArrowRight: here + 1, ArrowUp: here + 1, ArrowLeft: here < 0 ? count - 1 : here - 1, ArrowDown: here < 0 ? count - 1 : here - 1, Home: 0, End: count - 1, PageDown: here + 20, PageUp: here - 20 };
    if (Object.hasOwn(moves, event.key)) {
      event.preventDefault();
      this.choose(this.order[Math.max(0, Math.min(count - 1, moves[event.key]))], true);
    } else if (event.key === "Enter" && this.active >= 0) {
      event.preventDefault();
      this.open(this.active, event);
    } else if (event.key === "Escape") {
      this.leave();
    }
  }

  async open(at, event) {
    if (at < 0) return;
    const row = this.scene.rows[at];
    await this.results.need(["ref", "result"]);
    const address = new URL(this.results.place(row), this.root).href;
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
    const { results, scene } = this;
    const rows = Array.from({ length: Math.min(scene?.count ?? 0, MOST_ROWS) }, (_, at) => {
      const row = scene.rows[at];
      const link = results.has("ref") ? element("a", { href: new URL(results.place(row), this.root).href }) : element("span");
      link.textContent = results.has("ref") ? results.column("ref").label(row) : `row ${row + 1}`;
      const line = scene.lines.findIndex((each) => each.includes(at));
      const cells = [plainNumber(scene.xs[at]), plainNumber(scene.ys[at])].map((text) => element("td", { class: "kb-r" }, text));
      const by = element("td");
      by.textContent = results.column(scene.choice.by).label(row) ?? "not stated";
      return element("tr", { class: results.isDraft(row) ? "kb-is-draft" : null }, element("th", { scope: "row", class: "kb-wrap" }, link), ...cells, by, element("td", {}, line < 0 ? "" : String(line + 1)), element("td", {}, results.column("status").label(row) ?? ""));
    });
    const heads = ["Record", this.names.x, this.names.y, this.names.by, "Line", "Status"];
    const caption = element("caption", { class: "kb-sr" });
    caption.textContent = (scene?.count ?? 0) > MOST_ROWS ? `The first ${MOST_ROWS} of ${counted(scene.count)} points` : "All points of the chart";
    host.replaceChildren(element("table", { class: "kb-table" }, caption, element("thead", {}, element("tr", {}, ...heads.map((head, at) => element("th", { scope: "col", class: at === 1 || at === 2 ? "kb-r" : null }, head)))), element("tbody", {}, ...rows)));
    if ((scene?.count ?? 0) > MOST_ROWS) host.append(element("p", { class: "kb-section__note" }, `${caption.textContent}; the rest is in the results below.`));
  }

  svg(title) {
    const pen = new SvgPen(this.scene.size, title);
    const colours = this.colours();
    paint(pen, this.scene, this.results, this.names, colours);
    if (!this.scene.dense) pen.legend(this.scene.colour.legend, colours, this.scene.size);
    return pen.done();
  }

  png() {
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }
}
