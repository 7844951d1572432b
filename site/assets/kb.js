// What every page needs: colour scheme, search, menu, copy buttons. Everything heavier is another
// module, fetched when a page or a reader asks for it.

const root = new URL("../", import.meta.url);

// --- colour scheme: system, light, dark; theme.js applies the choice before the first paint -------

const THEMES = ["system", "light", "dark"];

function setUpTheme(button) {
  const html = document.documentElement;
  const name = button.querySelector(".kb-sr");
  const show = () => {
    name.textContent = `Colour scheme: ${html.dataset.theme || "system"}`;
    button.title = name.textContent;
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(html.dataset.theme || "system") + 1) % THEMES.length];
    if (next === "system") delete html.dataset.theme;
    else html.dataset.theme = next;
    try {
      if (next === "system") localStorage.removeItem("kb-theme");
      else localStorage.setItem("kb-theme", next);
    } catch (error) {
      // Storage may be forbidden; the choice then lasts for this page.
    }
    show();
  });
  show();
}

// --- search: the link in the header becomes a dialog; on the search page it stays a field ---------

let making = null;

async function openSearch() {
  const field = document.querySelector("#kb-search-page input");
  if (field) {
    field.focus();
    return;
  }
  making ??= makeDialog();
  const dialog = await making;
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input").focus();
}

async function makeDialog() {
  const { mount } = await import("./search.js");
  const dialog = document.createElement("dialog");
  dialog.className = "kb-search-dialog";
  dialog.setAttribute("aria-label", "Search");
  const close = () => {
    dialog.close();
    // A browser hands the focus back to an element alone: without one it stays in the hidden field until the
    // next frame, and a slash typed meanwhile would count as text.
    if (dialog.contains(document.activeElement)) document.activeElement.blur();
  };
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) close();
  });
  document.body.append(dialog);
  mount(dialog, { root, close });
  return dialog;
}

function setUpSearch(link) {
  link.setAttribute("aria-keyshortcuts", "/ Control+K");
  link.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    openSearch();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
    const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    const controlK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
    if (!slash && !controlK) return;
    event.preventDefault();
    openSearch();
  });
}

async function setUpSearchPage(host) {
  const { mount } = await import("./search.js");
  mount(host, { root, page: true });
}

// --- menu of small screens: works by its checkbox alone; Escape closes it -------------------------

function setUpMenu(checkbox) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !checkbox.checked) return;
    checkbox.checked = false;
    checkbox.focus();
  });
}

// --- <button data-kb-copy="text">: copies the text, says so, and says what it did before ----------

function setUpCopying() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-kb-copy]");
    if (!button) return;
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.kbCopy);
      button.textContent = "Copied";
    } catch (error) {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = label), 1500);
  });
}

// A box that scrolls can be reached and scrolled by keyboard.
function setUpScrollers() {
  for (const box of document.querySelectorAll("pre > code, .kb-prose table")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

// Paper says where it came from: the address, which holds what was chosen on the page too.
function setUpPrinting(main) {
  const line = document.createElement("p");
  line.className = "kb-printed";
  addEventListener("beforeprint", () => {
    line.textContent = location.href;
    main.prepend(line);
  });
  addEventListener("afterprint", () => line.remove());
}

// A link into a closed <details> opens it.
function openTarget() {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch (error) {
    // Not percent-encoded: the name is meant as it stands.
  }
  const target = id && document.getElementById(id);
  const closed = target && target.closest("details:not([open])");
  if (closed) closed.open = true;
}

setUpTheme(document.querySelector(".kb-theme"));
setUpSearch(document.querySelector(".kb-search-open"));
setUpMenu(document.getElementById("__drawer"));
setUpCopying();
setUpScrollers();
setUpPrinting(document.getElementById("content"));
addEventListener("hashchange", openTarget);
openTarget();

const searchPage = document.getElementById("kb-search-page");
if (searchPage) setUpSearchPage(searchPage);
if (document.querySelector("[data-kb-table]")) import("./tables.js");
if (document.querySelector("[data-kb-compare]")) import("./compare.js");
