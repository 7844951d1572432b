/*
Tables that a reader can sort and filter. The page comes with the whole table; without this module
all of it is there, in the order of the build.

  <section data-kb-table="benchmarks">
    <div class="kb-filters kb-js">
      <label>Filter <input type="search" data-kb-filter></label>
      <label>Engine <select data-kb-facet="engine"><option value="">All</option>...</select></label>
      <p class="kb-count" role="status" data-kb-count></p>
    </div>
    <div class="kb-scroll" role="region" aria-label="Benchmarks" tabindex="0">
      <table class="kb-table">
        <thead><tr><th data-sort="text">Record</th><th class="kb-r" data-sort="number">Value</th></tr></thead>
        <tbody><tr data-f-engine="sglang"><th scope="row">...</th><td class="kb-r" data-v="93.9">93.9</td></tr>
        </tbody>
      </table>
    </div>
    <p class="kb-empty" data-kb-empty hidden>No record has all of this.</p>
  </section>

- `data-sort` on a header cell makes its column sortable: `text`, or `number`. `data-v` on a cell is
  what it sorts by, where that differs from its text; a cell without a value comes last either way.
- `data-f-NAME` on a row lists the values of facet NAME, separated by blanks.
- The state of the first such table is in the hash, `#q=rtx&engine=sglang&sort=-value`, so that a view
  can be linked. `sort` names a column by `data-kb-column`, or by its number from 0.
- Where the list has several pages there is no facet to choose, and a link marked `data-kb-page="engine=sglang"`
  leads to that facet's own page: a hash that names it goes on to there.

Texts of the table are only ever read and compared: nothing here writes HTML.
*/

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

class Table {
  constructor(section, keepsState) {
    this.section = section;
    this.table = section.querySelector("table");
    this.body = this.table.tBodies[0];
    this.rows = Array.from(this.body.rows, (element, index) => ({
      element,
      index,
      text: fold(element.textContent),
    }));
    this.filter = section.querySelector("[data-kb-filter]");
    this.facets = Array.from(section.querySelectorAll("select[data-kb-facet]"));
    this.count = section.querySelector("[data-kb-count]");
    this.empty = section.querySelector("[data-kb-empty]");
    this.headers = Array.from(this.table.tHead.rows[0].cells);
    this.sort = null;
    this.stands = ""; // the order that the rows stand in: at first that of the build
    this.keepsState = keepsState;
    this.listen();
    if (keepsState) {
      addEventListener("hashchange", () => this.read());
      this.read();
    } else {
      this.update();
    }
  }

  listen() {
    this.headers.forEach((header, column) => {
      if (!header.dataset.sort) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "kb-sort";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => this.toggle(column));
    });
    this.filter?.addEventListener("input", () => this.changed());
    for (const facet of this.facets) facet.addEventListener("change", () => this.changed());
  }

  // Numbers are first sorted from the largest, texts from A; a second click turns, a third undoes it.
  toggle(column) {
    const first = this.headers[column].dataset.sort === "number";
    if (!this.sort || this.sort.column !== column) this.sort = { column, descending: first };
    else if (this.sort.descending === first) this.sort = { column, descending: !first };
    else this.sort = null;
    this.changed();
  }

  changed() {
    this.update();
    if (this.keepsState) this.write();
  }

  update() {
    this.order();
    const words = fold(this.filter?.value || "").split(/\s+/).filter(Boolean);
    const chosen = this.facets.filter((facet) => facet.value).map((facet) => [facet.dataset.kbFacet, facet.value]);
    let shown = 0;
    for (const { element, text } of this.rows) {
      const matches =
        words.every((word) => text.includes(word)) &&
        chosen.every(([name, value]) => (element.getAttribute(`data-f-${name}`) || "").split(" ").includes(value));
      element.hidden = !matches;
      if (matches) shown += 1;
    }
    const all = this.rows.length;
    if (this.count) this.count.textContent = shown === all ? `${all} rows` : `${shown} of ${all} rows`;
    if (this.empty) this.empty.hidden = shown > 0;
  }

  order() {
    this.headers.forEach((header, column) => {
      if (this.sort?.column === column) header.setAttribute("aria-sort", this.sort.descending ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
    // Moving rows makes the browser lay the whole table out again.
    const wanted = this.sort ? `${this.sort.column} ${this.sort.descending}` : "";
    if (wanted === this.stands) return;
    this.stands = wanted;
    const sorted = this.rows.slice();
    if (this.sort) {
      const { column, descending } = this.sort;
      const numeric = this.headers[column].dataset.sort === "number";
      const keys = new Map(sorted.map((row) => [row, key(row.element.cells[column], numeric)]));
      sorted.sort((a, b) => compare(keys.get(a), keys.get(b), descending) || a.index - b.index);
    } else {
      sorted.sort((a, b) => a.index - b.index);
    }
    this.body.append(...sorted.map((row) => row.element));
  }

  columnName(column) {
    return this.headers[column].dataset.kbColumn || String(column);
  }

  read() {
    const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    const page = pageOf(state);
    if (page) {
      location.replace(page.href);
      return;
    }
    if (this.filter) this.filter.value = state.get("q") || "";
    for (const facet of this.facets) {
      const wanted = state.get(facet.dataset.kbFacet) || "";
      facet.value = Array.from(facet.options, (option) => option.value).includes(wanted) ? wanted : "";
    }
    const sort = state.get("sort") || "";
    const name = sort.replace(/^-/, "");
    const column = this.headers.findIndex((header, index) => header.dataset.sort && this.columnName(index) === name);
    this.sort = column < 0 ? null : { column, descending: sort.startsWith("-") };
    this.update();
  }

  write() {
    const state = new URLSearchParams();
    if (this.filter?.value) state.set("q", this.filter.value);
    for (const facet of this.facets) if (facet.value) state.set(facet.dataset.kbFacet, facet.value);
    if (this.sort) state.set("sort", (this.sort.descending ? "-" : "") + this.columnName(this.sort.column));
    const hash = state.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }
}

function pageOf(state) {
  const named = Array.from(state, ([name, value]) => `${name}=${value}`);
  return Array.from(document.querySelectorAll("a[data-kb-page]")).find((link) => named.includes(link.dataset.kbPage));
}

function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function key(cell, numeric) {
  const text = (cell?.dataset.v ?? cell?.textContent ?? "").trim();
  if (!numeric) return text || null;
  const number = Number.parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? null : number;
}

function compare(a, b, descending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" ? a - b : collator.compare(a, b);
  return descending ? -order : order;
}

document.querySelectorAll("[data-kb-table]").forEach((section, index) => new Table(section, index === 0));
