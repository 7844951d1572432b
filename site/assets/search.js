/*
The search field and its list of results, in the dialog of every page and on search.html.

A combobox with a listbox of links: arrows move, Enter opens, Escape closes; the results are ordinary
links for the mouse. The index is fetched when the field gets the focus, not before. Texts of records
go into the page by `textContent` alone.
*/

import { SearchIndex, terms } from "./search-index.js";

const MAX_QUERY = 200;
let loading = null;
let fields = 0;

function load(root) {
  loading ??= SearchIndex.load(new URL("search/", root)).catch((error) => {
    loading = null; // the next focus tries again
    throw error;
  });
  return loading;
}

export function mount(host, { root, close = null, page = false }) {
  return new SearchField(host, root, close, page);
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

class SearchField {
  constructor(host, root, close, page) {
    this.root = root;
    this.close = close;
    this.page = page;
    this.active = -1;
    this.query = "";
    const id = `kb-search-${(fields += 1)}`;
    this.id = id;
    this.input = element("input", {
      type: "search",
      role: "combobox",
      "aria-label": "Search records and pages",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      maxlength: String(MAX_QUERY),
      placeholder: "Model, engine, accelerator, number, id, any word",
    });
    this.said = element("span");
    this.withdrawn = element("input", { type: "checkbox" });
    this.withdrawnLabel = element("label", { hidden: "" }, this.withdrawn, " with retracted and superseded");
    this.list = element("div", { class: "kb-search__list", role: "listbox", id: `${id}-list`, "aria-label": "Results", hidden: "" });
    const status = element("div", { class: "kb-search__status" }, element("span", { role: "status" }, this.said), this.withdrawnLabel);
    const hint = element("p", { class: "kb-search__hint", "aria-hidden": "true" });
    for (const [key, meaning] of [["\u2191\u2193", "move"], ["Enter", "open"], ["Esc", "close"]]) {
      hint.append(element("span", {}, element("kbd", {}, key), ` ${meaning}`));
    }
    host.append(element("div", { class: "kb-search", role: "search" }, this.input, status, this.list, hint));
    this.listen();
    if (page) this.readAddress();
  }

  listen() {
    this.input.addEventListener("focus", () => this.warmUp());
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.withdrawn.addEventListener("change", () => this.search());
    this.list.addEventListener("pointermove", (event) => {
      const hit = event.target.closest("[role=option]");
      if (hit) this.activate(Array.from(this.list.children).indexOf(hit), false);
    });
    this.list.addEventListener("click", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) this.close?.();
    });
    if (this.page) addEventListener("popstate", () => this.readAddress());
  }

  readAddress() {
    const query = (new URLSearchParams(location.search).get("q") || "").slice(0, MAX_QUERY);
    if (query === this.input.value) return;
    this.input.value = query;
    this.search();
  }

  async warmUp() {
    try {
      await load(this.root);
    } catch (error) {
      this.said.textContent = "The search index could not be loaded.";
    }
  }

  async search() {
    const query = this.input.value.slice(0, MAX_QUERY);
    this.query = query;
    if (this.page) {
      const address = new URL(location.href);
      if (query) address.searchParams.set("q", query);
      else address.searchParams.delete("q");
      history.replaceState(null, "", address);
    }
    try {
      const index = await load(this.root);
      if (query !== this.query) return;
      this.show(index, query, false);
      await pause(120);
      if (query !== this.query) return;
      await index.reach(query);
      if (query === this.query) this.show(index, query, true);
    } catch (error) {
      this.said.textContent = "The search index could not be loaded.";
    }
  }

  // First what the quick index knows; then, `complete`, with the words of the prose and slips.
  show(index, query, complete) {
    const { hits, hidden, total } = index.find(query, { withdrawn: this.withdrawn.checked, misspelt: complete });
    const chosen = this.list.children[this.active]?.getAttribute("href");
    this.list.replaceChildren(...hits.map((hit, at) => this.hit(hit.doc, at, query)));
    const any = hits.length > 0;
    this.list.hidden = !any;
    this.input.setAttribute("aria-expanded", String(any));
    this.withdrawnLabel.hidden = !hidden && !this.withdrawn.checked;
    if (total || complete) this.said.textContent = summary(query, total, hits.length, hidden);
    // Results from the prose may come later: what the reader had chosen stays chosen.
    const again = chosen ? hits.findIndex((hit) => this.address(hit.doc) === chosen) : -1;
    this.activate(again >= 0 ? again : any ? 0 : -1, false);
  }

  hit(doc, at, query) {
    const name = element("strong");
    mark(name, doc.title || doc.id, query);
    const figure = element("span", { class: "kb-search__num" }, doc.figure);
    const about = element("small", {}, [doc.kind, doc.status, ...doc.keywords.slice(0, 4), doc.id].filter(Boolean).join(" \u00b7 "));
    return element(
      "a",
      { class: "kb-search__hit", role: "option", id: `${this.id}-${at}`, tabindex: "-1", "aria-selected": "false", href: this.address(doc) },
      name, figure, about,
    );
  }

  // Addresses come from our own build; one that leaves the site is not followed.
  address(doc) {
    const url = new URL(doc.url, this.root);
    return url.href.startsWith(this.root.href) ? url.href : this.root.href;
  }

  activate(at, scroll = true) {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = at;
    const hit = this.list.children[at];
    if (!hit) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    hit.setAttribute("aria-selected", "true");
    this.input.setAttribute("aria-activedescendant", hit.id);
    if (scroll) hit.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const count = this.list.children.length;
    const moves = { ArrowDown: this.active + 1, ArrowUp: this.active - 1 + count, PageDown: Math.min(this.active + 8, count - 1), PageUp: Math.max(this.active - 8, 0) };
    if (Object.hasOwn(moves, event.key) && count) {
      event.preventDefault();
      this.activate(moves[event.key] % count);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      const hit = this.list.children[this.active];
      if (!hit) return;
      this.close?.();
      location.assign(hit.getAttribute("href"));
    } else if (event.key === "Escape" && this.close) {
      event.preventDefault();
      this.close();
    }
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function summary(query, total, shown, hidden) {
  if (!query.trim()) return "";
  const rest = hidden ? `; ${hidden} retracted or superseded left out` : "";
  if (!total) return `Nothing found${rest}`;
  const first = shown < total ? `, the first ${shown} shown` : "";
  return `${total} ${total === 1 ? "result" : "results"}${first}${rest}`;
}

// Writes `text` into `place` and marks where words of the query start.
function mark(place, text, query) {
  const wanted = new Set(terms(query).flatMap((term) => [term, ...term.split(/[^\p{L}\p{N}.]+/u)]).filter(Boolean));
  for (const part of text.split(/([\p{L}\p{N}.,]+)/u)) {
    const [folded] = terms(part);
    const term = folded && Array.from(wanted).find((word) => folded.startsWith(word));
    if (!term) {
      place.append(part);
      continue;
    }
    // Where folding changed the length of the word, all of it is marked.
    const length = part.toLowerCase().startsWith(term) ? term.length : part.length;
    place.append(element("mark", {}, part.slice(0, length)), part.slice(length));
  }
}
