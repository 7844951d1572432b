/* Elements from plain data. Texts of records go into the page by `textContent` alone. */

import { grouped } from "./columns.js";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  made.append(...children);
  return made;
}

// With separators. Asking the browser for a locale's would cost 50 ms once.
export function counted(number) {
  return grouped(String(number));
}

export function option(value, text) {
  return element("option", { value }, text);
}
