/*
What a reader has chosen, and its form in the address, so that a view can be linked and the back button undoes
a choice:

  #metric=ttft_ms&q=rtx&engine=vllm&engine=sglang&bound=~&sort=-value&view=line&x=concurrency

A value that is not stated is `~`; a word that begins with `~` has another one in front. References are without
the folder, and so are the results that are chosen for comparison (`pick`). What is as it would be anyway is left out.
The page says all this under Addresses: other pages link here, so the names stay.
*/

const REFERENCES = { accelerator: "accelerators/", model: "models/", engine: "engines/" };
const PLAIN = { view: "scatter", x: "", y: "value", by: "accelerator", stat: "", pool: "", logx: "", logy: "" };
const MAX_TEXT = 200;
export const MOST_PICKS = 6; // as many as stand side by side: site/assets/compare.js
const BENCHMARKS = "benchmarks/";
const PICK = /^[a-z][a-z0-9-]*#[A-Za-z0-9][\w.-]*$/;

export function encodeWord(name, word) {
  if (word === null) return "~";
  const folder = REFERENCES[name];
  const short = folder && word.startsWith(folder) ? word.slice(folder.length) : word;
  return short.startsWith("~") ? `~${short}` : short;
}

export function decodeWord(name, text) {
  if (text === "~") return null;
  const word = text.startsWith("~") ? text.slice(1) : text;
  const folder = REFERENCES[name];
  return folder && !word.includes("/") ? folder + word : word;
}

export function initial(header) {
  return {
    metric: Object.keys(header.metrics)[0],
    q: "",
    all: false,
    facets: {},
    sort: null,
    page: 1,
    columns: header.shown.slice(),
    picks: [],
    ...PLAIN,
  };
}

export function read(hash, header) {
  const state = initial(header);
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const metric = given.get("metric");
  if (metric === "*" || (metric && Object.hasOwn(header.metrics, metric))) state.metric = metric;
  state.q = (given.get("q") ?? "").slice(0, MAX_TEXT);
  state.all = given.get("all") === "1";
  for (const name of header.facets) {
    const values = given.getAll(name).map((text) => decodeWord(name, text));
    if (values.length) state.facets[name] = unlike(values);
  }
  const sort = given.get("sort") ?? "";
  const name = sort.replace(/^-/, "");
  if (Object.hasOwn(header.titles, name)) state.sort = { name, descending: sort.startsWith("-") };
  const page = Number(given.get("page"));
  if (Number.isInteger(page) && page > 1) state.page = page;
  const columns = unlike((given.get("columns") ?? "").split(",")).filter((each) => Object.hasOwn(header.titles, each));
  if (columns.length) state.columns = columns;
  const picks = unlike(given.getAll("pick")).filter((each) => PICK.test(each));
  state.picks = picks.slice(0, MOST_PICKS).map((each) => BENCHMARKS + each);
  const choices = {
    view: ["scatter", "line", "frontier"],
    x: header.numbers,
    y: ["value", "per_accelerator"],
    by: header.colours,
    stat: Object.keys(header.statistics),
    pool: null,
    logx: ["0", "1"],
    logy: ["0", "1"],
  };
  for (const [key, allowed] of Object.entries(choices)) {
    const value = given.get(key);
    if (value !== null && (!allowed || allowed.includes(value))) state[key] = value;
  }
  return state;
}

export function write(state, header) {
  const usual = initial(header);
  const given = new URLSearchParams();
  if (state.metric !== usual.metric) given.set("metric", state.metric);
  if (state.q) given.set("q", state.q);
  if (state.all) given.set("all", "1");
  for (const name of header.facets) for (const word of state.facets[name] ?? []) given.append(name, encodeWord(name, word));
  if (state.sort) given.set("sort", (state.sort.descending ? "-" : "") + state.sort.name);
  if (state.page > 1) given.set("page", String(state.page));
  if (state.columns.join() !== usual.columns.join()) given.set("columns", state.columns.join());
  for (const key of Object.keys(PLAIN)) if (state[key] !== PLAIN[key]) given.set(key, state[key]);
  for (const name of state.picks) given.append("pick", name.slice(BENCHMARKS.length));
  const hash = given.toString();
  return hash ? `#${hash}` : "";
}

function unlike(texts) {
  return Array.from(new Set(texts));
}
