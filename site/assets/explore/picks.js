/*
Results that are chosen for comparison: a box at each row and point, and below the table what is chosen so far with the link
to compare.html. Six at most stand side by side. They are kept in the address, so that they are there on the way back.
*/

import { counted, element } from "./dom.js";
import { MOST_PICKS } from "./state.js";

export class Picks {
  constructor(host, tray, results, root, change) {
    this.host = host;
    this.tray = tray;
    this.results = results;
    this.root = root;
    this.change = change;
    this.names = [];
    host.addEventListener("change", (event) => {
      if (event.target.dataset.pick) this.toggle(event.target.dataset.pick, event.target.checked);
    });
  }

  // Takes a result in or out, unless there is no room for it.
  toggle(name, on = !this.has(name)) {
    const others = this.names.filter((each) => each !== name);
    if (on && others.length >= MOST_PICKS) return;
    this.change(on ? [...others, name] : others);
  }

  has(name) {
    return this.names.includes(name);
  }

  // A box for the row; its names have to be loaded.
  box(row) {
    const name = this.results.name(row);
    const box = element("input", { type: "checkbox", "data-pick": name, "aria-label": `Compare ${this.results.column("ref").label(row)}, ${this.results.column("result").text(row)}` });
    this.set(box);
    return element("label", { class: "kb-x__pick", title: "Take into the comparison" }, box);
  }

  set(box) {
    const on = this.has(box.dataset.pick);
    box.checked = on;
    box.disabled = !on && this.names.length >= MOST_PICKS;
  }

  show(names) {
    this.names = names;
    for (const box of this.host.querySelectorAll("[data-pick]")) this.set(box);
    const { tray } = this;
    tray.hidden = !names.length;
    const chips = names.map((name) => {
      const said = element("span");
      said.textContent = name.slice(name.indexOf("/") + 1);
      const button = element("button", { type: "button", "aria-label": `Remove ${name}` }, "\u00d7");
      button.addEventListener("click", () => {
        this.toggle(name, false);
        (tray.querySelector("button") ?? this.host.querySelector("[data-pick]"))?.focus();
      });
      return element("li", {}, said, button);
    });
    const enough = names.length > 1;
    const link = element("a", { class: "kb-button", href: this.address() }, `Compare ${counted(names.length)} results`);
    const count = names.length === MOST_PICKS ? `${MOST_PICKS} results at most stand side by side.` : enough ? "" : "Choose one more to compare.";
    tray.replaceChildren(element("ul", { class: "kb-chips" }, ...chips), ...(enough ? [link] : []), element("small", { role: "status" }, count));
  }

  address() {
    const ids = this.names.map((name) => encodeURIComponent(name).replaceAll("%2F", "/"));
    return new URL(`compare.html?ids=${ids.join(",")}`, this.root).href;
  }
}
