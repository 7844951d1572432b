/*
The table of results: one page of rows, sortable by its heads, each row a link to its place in the record, with its result
and a box that takes it into the comparison.
*/

import { grouped } from "./columns.js";
import { counted, element } from "./dom.js";

export const ROWS = 30;

const NULLS = { statistic: "not stated", comparison_class: "none" };
const SIGNS = { approx: "\u2248", at_least: "\u2265", at_most: "\u2264" };

export class Grid {
  constructor(table, pager, results, root, picks, change) {
    this.table = table;
    this.pager = pager;
    this.results = results;
    this.root = root;
    this.picks = picks;
    this.change = change;
    pager.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      this.change({ page: Number(button.value) });
      table.closest(".kb-scroll").focus({ preventScroll: true });
      table.scrollIntoView({ block: "start" });
    });
  }

  // `mixed` names columns that stand in front: what the rows have more than one of, or what the chart shows.
  show(state, sort, rows, mixed) {
    const names = Array.from(new Set(["ref", ...mixed, ...state.columns])).filter((name) => this.results.has(name));
    this.head(sort, names);
    const pages = Math.max(1, Math.ceil(rows.length / ROWS));
    const page = Math.min(state.page, pages);
    const shown = rows.subarray((page - 1) * ROWS, page * ROWS);
    this.table.tBodies[0].replaceChildren(...Array.from(shown, (row) => this.row(names, row)));
    this.pages(page, pages);
    return shown;
  }

  head(sort, names) {
    const { titles } = this.results.header;
    const focused = document.activeElement?.closest?.("th")?.dataset.column;
    const cells = names.map((name) => {
      const button = element("button", { type: "button", class: "kb-sort" });
      button.textContent = titles[name];
      button.addEventListener("click", () => this.change({ sort: turned(sort, name, this.results), page: 1 }));
      const cell = element("th", { class: this.style(name), scope: "col", "data-column": name }, button);
      if (sort?.name === name) cell.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
      return cell;
    });
    this.table.tHead.replaceChildren(element("tr", {}, ...cells));
    if (focused) cells.find((cell) => cell.dataset.column === focused)?.firstChild.focus({ preventScroll: true });
  }

  row(names, row) {
    const { results } = this;
    const cells = names.map((name) => {
      if (name === "ref") {
        const link = element("a", { href: new URL(results.place(row), this.root).href });
        link.textContent = results.column("ref").label(row);
        const result = element("small");
        result.textContent = results.column("result").text(row);
        return element("th", { scope: "row", class: "kb-wrap" }, element("div", { class: "kb-x__name" }, this.picks.box(row), element("div", {}, link, result)));
      }
      if (name === "status") return element("td", {}, ...this.badges(row));
      if (name === "value" || name === "per_accelerator" || name === "user_tok_s") return this.figure(name, row);
      const cell = element("td", { class: this.style(name) });
      const text = (name === "title" ? results.text(name, row) : results.column(name).label(row)) ?? NULLS[name] ?? "";
      const count = name === "accelerator" && !names.includes("accelerators_serving") ? results.column("accelerators_serving").label(row) : null;
      cell.textContent = count === null ? text : `${count} \u00d7 ${text}`;
      return cell;
    });
    return element("tr", { class: results.isDraft(row) ? "kb-is-draft" : null }, ...cells);
  }

  // Figures stand to the right, and are marked where they are a draft's; numbers of conditions are not.
  style(name) {
    if (name === "comparison_class") return "kb-x__class";
    return this.results.header.measures.includes(name) ? "kb-r" : this.results.isNumber(name) ? "kb-num" : null;
  }

  figure(name, row) {
    const cell = element("td", { class: "kb-r" });
    const text = figureText(this.results, row, name);
    const unit = name === "user_tok_s" ? "tok/s" : this.results.metric(row).shown_unit;
    if (text) cell.append(text, ...(unit ? [" ", element("span", { class: "kb-unit" }, unit)] : []));
    return cell;
  }

  badges(row) {
    const { results } = this;
    const said = [results.column("status").text(row), results.column("standing").text(row)].filter((each) => each && each !== "stands");
    return Array.from(new Set(said), (each) => {
      const badge = element("span", { class: /^[a-z]+$/.test(each) ? `kb-badge kb-badge--${each}` : "kb-badge" });
      badge.textContent = each;
      return badge;
    });
  }

  pages(page, pages) {
    const list = element("ul");
    if (pages > 1) {
      const near = [1, page - 2, page - 1, page, page + 1, page + 2, pages];
      const wanted = Array.from(new Set(near)).filter((each) => each >= 1 && each <= pages).sort((a, b) => a - b);
      let before = 0;
      for (const each of wanted) {
        if (each - before > 1) list.append(element("li", {}, element("span", {}, "\u2026")));
        const current = each === page;
        list.append(element("li", {}, current ? element("span", { "aria-current": "page" }, counted(each)) : element("button", { type: "button", value: String(each), "aria-label": `Page ${each}` }, counted(each))));
        before = each;
      }
    }
    this.pager.replaceChildren(list);
    this.pager.hidden = pages <= 1;
  }
}

// A figure as a reader sees it: its sign, or its range where there is no single value.
export function figureText(results, row, name = "value") {
  const text = results.column(name).label(row);
  if (text === null) {
    if (name !== "value" || !results.has("low")) return "";
    return [results.column("low").label(row), results.column("high").label(row)].filter((each) => each !== null).join("\u2013");
  }
  const sign = name === "value" && results.has("qualifier") ? (SIGNS[results.column("qualifier").text(row)] ?? "") : "";
  return sign + text;
}

export function plainNumber(number) {
  return Number.isNaN(number) ? "" : grouped(String(number));
}

// Numbers are first sorted from the largest, texts from A; a second click turns.
function turned(sort, name, results) {
  return { name, descending: sort?.name === name ? !sort.descending : results.isNumber(name) };
}
