/*
What is said where nothing is shown: which one filter stands in the way, and which metrics have results for the same
filters; and, where a frontier would be of several models, which there are. Every line is a button that takes the step.
*/

import { distinct } from "./columns.js";
import { counted, element } from "./dom.js";

const MOST_MODELS = 12; // that are offered
export const OTHER_METRIC = { stat: "", pool: "", x: "", logx: "", logy: "" }; // what is chosen anew with the metric or the view

// `explorer` is that of explore.js: its filter, header, results, state and wordLabel are read.
export function showEmpty(host, explorer, change) {
  const { filter, header, results, state } = explorer;
  const step = (text, count, patch) => {
    const button = element("button", { type: "button", class: "kb-button" }, `${text} (${counted(count)})`);
    button.addEventListener("click", () => change(patch));
    return element("li", {}, button);
  };
  const list = (title, items) => (items.length ? [element("p", {}, title), element("ul", {}, ...items)] : []);
  const steps = ways(explorer).filter(({ count }) => count);
  const drops = steps.map(({ text, count, patch }) => step(text, count, patch));
  const others = metricsOf(filter, header, results, state).map(([id, count]) => step(header.metrics[id].title, count, { ...OTHER_METRIC, metric: id, view: "scatter" }));
  const all = element("button", { type: "button", class: "kb-button" }, "Remove all filters");
  all.addEventListener("click", () => change({ facets: {}, q: "" }));
  host.replaceChildren(
    element("p", {}, element("strong", {}, "No result has all of this.")),
    ...list("Other metrics with the same filters:", others),
    ...list("One step that brings results:", drops),
    ...(drops.length ? [] : [element("p", {}, "No one filter stands in the way alone. ", all)]),
  );
}

// Each thing that was chosen, with the number of results there would be without it.
function ways(explorer) {
  const { filter, header, state } = explorer;
  const found = [];
  for (const name of header.facets) {
    const words = state.facets[name] ?? [];
    if (!words.length) continue;
    const text = `${header.titles[name]}: ${words.map((word) => explorer.wordLabel(name, word)).join(" or ")}`;
    found.push({ text: `without ${text}`, count: filter.without(name), patch: { facets: { ...state.facets, [name]: [] } } });
  }
  if (state.q.trim()) found.push({ text: `without the words \u201c${state.q.trim()}\u201d`, count: filter.without("words"), patch: { q: "" } });
  if (!state.all) found.push({ text: "with withdrawn, retracted and superseded", count: filter.without("stands"), patch: { all: true } });
  return found;
}

function metricsOf(filter, header, results, state) {
  const counts = filter.counts("metric");
  const codeOf = (id) => results.column("metric").codeOf(id);
  const asked = state.view === "frontier" ? null : state.metric;
  return Object.keys(header.metrics).map((id) => [id, counts[codeOf(id)]]).filter(([id, count]) => count && id !== asked).sort((a, b) => b[1] - a[1]).slice(0, 12);
}

// Models of 8 and of 671 billion parameters on one plane would say nothing of what is compared: one is asked for.
export function askForModel(host, explorer, rows, change) {
  const model = explorer.results.column("model");
  const counts = explorer.filter.counts("model");
  const codes = distinct(model, rows, model.words.length + 1).sort((a, b) => counts[b] - counts[a] || a - b);
  const buttons = codes.slice(0, MOST_MODELS).map((code) => {
    const word = code ? model.words[code - 1] : null;
    const button = element("button", { type: "button", class: "kb-button" }, `${explorer.wordLabel("model", word)} (${counted(counts[code])})`);
    button.addEventListener("click", () => change({ facets: { ...explorer.state.facets, model: [word] } }));
    return element("li", {}, button);
  });
  const rest = codes.length > MOST_MODELS ? `, or one of ${counted(codes.length - MOST_MODELS)} more among the filters` : "";
  host.replaceChildren(element("p", {}, `Figures of several models share no frontier. Choose one${rest}:`), element("ul", {}, ...buttons));
}
