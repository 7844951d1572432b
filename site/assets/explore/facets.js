/*
The facets beside the table: a group of checkboxes each, with the number of rows that a value would show. Groups
come with the page, closed ones are filled when they are opened, and a long one shows its most frequent values
and a field to find the others.
*/

import { counted, element } from "./dom.js";
import { fold } from "./filter.js";

const AT_FIRST = 12;
const AT_MOST = 200; // checkboxes in one group: more are found by typing
const FINDABLE = 15; // values from which on there is a field to find one

export class Facets {
  constructor(host, results, filter, change) {
    this.results = results;
    this.filter = filter;
    this.change = change;
    this.groups = Array.from(host.querySelectorAll("[data-facet]"), (group) => ({
      name: group.dataset.facet,
      group,
      host: group.querySelector(".kb-x__values"),
      summary: group.querySelector("summary"),
      all: false,
      find: "",
    }));
    for (const facet of this.groups) {
      facet.host.addEventListener("change", (event) => {
        if (event.target.type === "checkbox") this.toggle(facet.name, Number(event.target.value), event.target.checked);
      });
      facet.host.addEventListener("input", (event) => {
        if (event.target.type !== "search") return;
        facet.find = event.target.value;
        this.fill(facet);
      });
      facet.host.addEventListener("click", (event) => {
        if (!event.target.closest("button")) return;
        facet.all = !facet.all;
        this.fill(facet);
      });
      facet.group.addEventListener("toggle", () => {
        if (facet.group.open && this.state) this.fill(facet);
      });
    }
  }

  word(name, code) {
    return code ? this.results.column(name).words[code - 1] : null;
  }

  label(name, code) {
    return code ? this.results.column(name).wordLabel(code) : "not stated";
  }

  toggle(name, code, on) {
    const word = this.word(name, code);
    const chosen = (this.state.facets[name] ?? []).filter((each) => each !== word);
    if (on) chosen.push(word);
    this.change({ facets: { ...this.state.facets, [name]: chosen } });
  }

  show(state) {
    this.state = state;
    for (const facet of this.groups) {
      const chosen = (state.facets[facet.name] ?? []).length;
      facet.summary.classList.toggle("kb-x__chosen", chosen > 0);
      facet.group.hidden = this.results.column(facet.name).words.length === 0;
      if (facet.group.open) this.fill(facet);
    }
  }

  // Values that have rows, and those that are chosen: by number, where they are numbers, else the most frequent first.
  values(facet) {
    const { name } = facet;
    const column = this.results.column(name);
    const counts = this.filter.counts(name);
    const chosen = new Set((this.state.facets[name] ?? []).map((word) => (word === null ? 0 : column.codeOf(word))));
    const codes = Array.from(counts.keys()).filter((code) => counts[code] || (chosen.has(code) && (code || (this.state.facets[name] ?? []).includes(null))));
    if (column.kind === "number") codes.sort((a, b) => (a === 0) - (b === 0) || a - b);
    else codes.sort((a, b) => counts[b] - counts[a] || a - b);
    return { codes, counts, chosen };
  }

  fill(facet) {
    const { name, host } = facet;
    const { codes, counts, chosen } = this.values(facet);
    const wanted = fold(facet.find);
    const found = wanted ? codes.filter((code) => fold(this.label(name, code)).includes(wanted)) : codes;
    const most = facet.all || wanted ? AT_MOST : AT_FIRST;
    const shown = found.filter((code, at) => at < most || chosen.has(code));
    const focused = host.contains(document.activeElement) ? document.activeElement : null;
    let list = host.querySelector("ul");
    if (!list) {
      list = element("ul");
      if (codes.length > FINDABLE) host.append(element("input", { type: "search", "aria-label": `Find in ${facet.summary.textContent}`, placeholder: "Find" }));
      host.append(list, element("button", { type: "button", class: "kb-button" }));
    }
    const boxes = new Map(Array.from(list.querySelectorAll("input"), (box) => [Number(box.value), box]));
    const again = focused?.type === "checkbox" ? Number(focused.value) : null;
    // A box that stays is moved and not made anew: it keeps the focus.
    const items = shown.map((code) => {
      const item = boxes.get(code)?.closest("li") ?? this.item(name, code);
      const box = item.querySelector("input");
      box.checked = chosen.has(code);
      item.querySelector("small").textContent = counted(counts[code]);
      return item;
    });
    list.replaceChildren(...items);
    if (again !== null) boxes.get(again)?.isConnected && boxes.get(again).focus({ preventScroll: true });
    const button = host.querySelector("button");
    button.hidden = Boolean(wanted) || found.length <= AT_FIRST;
    button.textContent = facet.all ? "Fewer" : `All ${counted(Math.min(found.length, AT_MOST))}`;
  }

  item(name, code) {
    const box = element("input", { type: "checkbox", value: String(code) });
    const label = element("span");
    label.textContent = this.label(name, code);
    return element("li", {}, element("label", {}, box, label, element("small")));
  }
}

// What is chosen, each with a button that takes it back.
export function showChips(host, state, header, labelOf, change) {
  const chips = [];
  for (const name of header.facets) {
    for (const word of state.facets[name] ?? []) {
      const text = `${header.titles[name]}: ${labelOf(name, word)}`;
      const button = element("button", { type: "button", "aria-label": `Remove ${text}` }, "\u00d7");
      button.addEventListener("click", () => {
        change({ facets: { ...state.facets, [name]: state.facets[name].filter((each) => each !== word) } });
        (host.querySelector("button") ?? host.closest("details").querySelector("summary")).focus();
      });
      const said = element("span");
      said.textContent = text;
      chips.push(element("li", {}, said, button));
    }
  }
  if (chips.length > 1) {
    const clear = element("button", { type: "button" }, "Remove all");
    clear.addEventListener("click", () => {
      change({ facets: {} });
      host.closest("details").querySelector("summary").focus();
    });
    chips.push(element("li", {}, clear));
  }
  host.replaceChildren(...chips);
}
