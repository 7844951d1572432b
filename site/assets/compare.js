/*
Two to six results side by side: `compare.html?ids=benchmarks/a#x,benchmarks/b#y` (with # as %23).

`heldAgainst` is `kbtool.analysis.compare.held_against` in this language, over the same facts of each side, which the data
file of a record holds under "comparison". Words and tables of the rules come from data/comparison-rules.json, which Python
writes. tests/browser/test_compare_page.py holds the two equal over all pairs of several hundred results.

Nothing here writes HTML: every text of a record goes through textContent.
*/

const root = new URL("../", import.meta.url);
const MOST = 6;

// --- the rules --------------------------------------------------------------------------------------

export function heldAgainst(rules, one, other) {
  let refused = refusals(rules, one, other);
  if (!refused.length) refused = notBroughtTogether(rules, one, other);
  const differences = differencesOf(rules, one, other);
  if (refused.length) return { verdict: "refused", refused, reservations: [], differences, ratio: null, basis: "" };
  const shared = isPerAccelerator(rules, one, other);
  const values = [one, other].map((side) => (shared ? side.per_accelerator : side.value));
  const reservations = reservationsOf(rules, one, other);
  return {
    verdict: reservations.length ? "with_reservations" : "comparable",
    refused: [],
    reservations,
    differences,
    ratio: quotient(values[0], values[1]),
    basis: shared ? basisOf(one, other) : "",
  };
}

export function sentenceOf(found) {
  if (found.verdict === "refused") return `Not comparable: ${found.refused.join("; ")}.`;
  const stated = found.ratio === null ? "Comparable" : `Comparable: the first is ${found.ratio} times the second`;
  const basis = found.basis ? ` (${found.basis})` : "";
  if (!found.reservations.length) return `${stated}${basis}.`;
  return `${stated}${basis}, with reservations: ${found.reservations.join("; ")}.`;
}

const nameOf = (side) => `${side.ref}#${side.result}`;
const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

function metricOf(rules, id) {
  const found = own(rules.metrics, id);
  if (!found) return null;
  const [title, unit, scope, tokens, conditions] = found;
  return { id, title, unit, scope, tokens, conditions };
}

function refusals(rules, one, other) {
  const found = ofWhatTheyAre(rules, one, other);
  return found.length ? found : ofConditions(rules, one, other);
}

function ofWhatTheyAre(rules, one, other) {
  const found = [];
  for (const side of [one, other]) {
    if (side.status === "retracted" || side.status === "superseded") found.push(`${side.ref} is ${side.status}`);
    else if (side.standing === "withdrawn") found.push(`${nameOf(side)} was withdrawn by its source`);
    else if (!side.value && metricOf(rules, side.metric)) found.push(`${nameOf(side)} gives a range and no single figure`);
  }
  const [a, b] = [one.comparison_class, other.comparison_class];
  if (a !== b && (!a || !b)) found.push(`a result of the closed class ${a || b} stands beside results of that class alone`);
  else if (a !== b) found.push(`another closed class: ${a} against ${b}`);
  const metrics = [metricOf(rules, one.metric), metricOf(rules, other.metric)];
  if (!metrics[0] || !metrics[1]) found.push("one of the metrics is not in the vocabulary");
  else if (one.metric !== other.metric) {
    const reason = otherMetric(rules, ...metrics);
    if (reason) found.push(reason);
  }
  if (one.model !== other.model) found.push(`another model: ${one.model} against ${other.model}`);
  return found;
}

function otherMetric(rules, one, other) {
  if (one.tokens !== other.tokens) return `another count of tokens: ${rules.tokens[one.tokens]} against ${rules.tokens[other.tokens]}`;
  if (one.unit !== other.unit) return `another metric: ${one.title} (${one.unit}) against ${other.title} (${other.unit})`;
  const family = own(rules.families, one.id);
  if (family !== undefined && family === own(rules.families, other.id)) return "";
  if (one.scope !== other.scope) {
    return `another scope: ${rules.scopes[one.scope]} against ${rules.scopes[other.scope]}`;
  }
  return `another metric: ${one.title} against ${other.title}`;
}

function ofConditions(rules, one, other) {
  const found = [];
  const metric = metricOf(rules, one.metric);
  if (one.statistic && other.statistic && !isOneKind(rules, one.statistic, other.statistic))
    found.push(`another statistic: ${one.statistic} against ${other.statistic}`);
  const asked = new Set([...metric.conditions, ...metricOf(rules, other.metric).conditions, ...rules.where_stated]);
  for (const name of rules.conditions) {
    const [a, b] = [own(one.told, name), own(other.told, name)];
    if (!asked.has(name) || a === undefined || b === undefined || isEqual(rules, name, a, b)) continue;
    if ((name === "concurrency" || name === "request_rate") && own(rules.families, one.metric) !== undefined) continue;
    found.push(`another ${rules.names[name]}: ${a} against ${b}`);
  }
  if (one.decreed !== other.decreed) found.push(`drafts of ${nameOf(one.decreed ? one : other)} were accepted by decree`);
  return found;
}

function isOneKind(rules, one, other) {
  const pair = [one, other].map((each) => (each === "median" ? "p50" : each));
  if (pair[0] === pair[1]) return true;
  return pair.includes("single") && pair.every((each) => each === "single" || rules.centres.includes(each));
}

function isEqual(rules, name, one, other) {
  if (name === "precision" || name === "expert_precision")
    return one === other || rules.generic.some((each) => (one === each && other.includes(each)) || (other === each && one.includes(each)));
  if (!rules.lengths.includes(name)) return one === other;
  const [a, b] = [one, other].map((text) => Number(text.replaceAll(",", "")));
  return 100 * Math.abs(a - b) <= rules.length_slack_percent * Math.max(a, b);
}

function notBroughtTogether(rules, one, other) {
  if (!isPerAccelerator(rules, one, other)) return [];
  const lacking = [one, other].find((side) => side.why_not);
  return lacking ? [`${nameOf(lacking)} cannot be given per accelerator: ${lacking.why_not}`] : [];
}

function isPerAccelerator(rules, one, other) {
  if (one.metric !== other.metric) return true;
  if (metricOf(rules, one.metric).scope !== "system" || own(rules.families, one.metric) === undefined) return false;
  return one.accelerators !== null && other.accelerators !== null && one.accelerators !== other.accelerators;
}

function basisOf(one, other) {
  if (!one.formula && !other.formula) return "";
  return `per accelerator: ${one.formula || "as published"} against ${other.formula || "as published"}`;
}

function reservationsOf(rules, one, other) {
  const asked = new Set([...metricOf(rules, one.metric).conditions, ...metricOf(rules, other.metric).conditions]);
  if (asked.has("concurrency") && Object.hasOwn(one.told, "request_rate") && Object.hasOwn(other.told, "request_rate")) {
    asked.delete("concurrency");
    asked.add("request_rate");
  }
  const found = [];
  for (const name of rules.conditions) {
    if (!asked.has(name)) continue;
    const silent = [one, other].filter((side) => !Object.hasOwn(side.told, name));
    if (silent.length === 2) found.push(`neither states the ${rules.names[name]}`);
    else if (silent.length) found.push(`${nameOf(silent[0])} does not state the ${rules.names[name]}`);
  }
  if (Boolean(one.statistic) !== Boolean(other.statistic)) found.push("one of the two does not say which statistic it is");
  else if ((one.statistic === "single") !== (other.statistic === "single")) found.push("one of the two is a single run");
  for (const side of [one, other])
    if (side.status === "disputed" || side.standing === "disputed") found.push(`${nameOf(side)} is disputed`);
  return found;
}

function differencesOf(rules, one, other) {
  const found = [];
  for (const what of rules.settings) {
    const [a, b] = [own(one.settings, what) ?? "", own(other.settings, what) ?? ""];
    if (a !== b) found.push([what, a, b]);
  }
  return found;
}

// Decimal division as Python does it: 28 digits, then three behind the point, both times to the even digit.
export function quotient(one, other) {
  const [a, b] = [decimal(one), decimal(other)];
  if (!b.digits) return null;
  if (!a.digits) return "0.000";
  let [top, bottom] = [a.digits, b.digits];
  const negative = top < 0n !== bottom < 0n;
  if (top < 0n) top = -top;
  if (bottom < 0n) bottom = -bottom;
  let exponent = b.places - a.places;
  const shift = 28 - (String(top).length - String(bottom).length);
  if (shift >= 0) top *= 10n ** BigInt(shift);
  else bottom *= 10n ** BigInt(-shift);
  exponent -= shift;
  let digits = rounded(top, bottom);
  // The quotient now has 28 or 29 digits; the last of 29 goes, from the exact quotient.
  if (String(digits).length > 28) {
    digits = rounded(top, bottom * 10n);
    exponent += 1;
  }
  const thousandths = exponent >= -3 ? digits * 10n ** BigInt(exponent + 3) : rounded(digits, 10n ** BigInt(-3 - exponent));
  const text = String(thousandths).padStart(4, "0");
  return `${negative ? "-" : ""}${text.slice(0, -3)}.${text.slice(-3)}`;
}

function decimal(text) {
  const [whole, fraction = ""] = text.split(".");
  return { digits: BigInt(whole + fraction), places: fraction.length };
}

function rounded(top, bottom) {
  const [whole, twice] = [top / bottom, (top % bottom) * 2n];
  return twice > bottom || (twice === bottom && whole % 2n) ? whole + 1n : whole;
}

// --- the sides --------------------------------------------------------------------------------------

export function unpacked(comparison) {
  const { all, each } = comparison;
  return each.map((more) => ({
    ...all,
    ...more,
    told: { ...all.told, ...more.told },
    settings: { ...all.settings, ...more.settings },
  }));
}

async function load(name) {
  const [ref, anchor = ""] = name.split("#");
  if (!/^benchmarks\/[a-z][a-z0-9-]*$/.test(ref)) throw new Error(`${name} names no benchmark: write benchmarks/id#result`);
  const response = await fetch(new URL(`data/records/${ref}.json`, root));
  if (!response.ok) throw new Error(`there is no record ${ref}`);
  const file = await response.json();
  const wanted = anchor || file.record.headline;
  const sides = unpacked(file.comparison);
  const side = sides.find((each) => each.result === wanted) ?? (anchor ? undefined : sides[0]);
  if (!side) throw new Error(`${ref} has no result ${wanted}`);
  return { side, title: file.record.title, status: file.status };
}

// --- the page ---------------------------------------------------------------------------------------

class Comparison {
  constructor(host) {
    this.out = host.querySelector("[data-kb-compare-out]");
    this.status = host.querySelector("[data-kb-compare-status]");
    const field = host.querySelector("[data-kb-compare-field]");
    const add = () => {
      if (field.value.trim()) this.go([...this.names(), field.value.trim()]);
      field.value = "";
    };
    host.querySelector("[data-kb-compare-add]").addEventListener("click", add);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") add();
    });
    addEventListener("popstate", () => this.show());
    this.show();
  }

  names() {
    const given = new URLSearchParams(location.search).get("ids") || "";
    return Array.from(new Set(given.split(",").map((name) => name.trim()).filter(Boolean)));
  }

  go(names) {
    const ids = names.map((name) => encodeURIComponent(name).replaceAll("%2F", "/")).join(",");
    history.pushState(null, "", ids ? `?ids=${ids}` : location.pathname);
    this.show();
  }

  async show() {
    const names = this.names();
    this.out.replaceChildren();
    this.say(names.length ? "Loading" : "Name two results to compare.");
    if (!names.length) return;
    try {
      this.rules ??= await (await fetch(new URL("data/comparison-rules.json", root))).json();
      const loaded = await Promise.allSettled(names.slice(0, MOST).map(load));
      if (this.names().join() !== names.join()) return;
      const sides = loaded.filter((each) => each.status === "fulfilled").map((each) => each.value);
      const faults = loaded.filter((each) => each.status === "rejected").map((each) => each.reason.message);
      if (names.length > MOST) faults.push(`${MOST} results at most stand side by side`);
      if (sides.length < 2) faults.push("name at least two results");
      this.say([`${sides.length} results`, ...faults].join("; "));
      this.out.replaceChildren(...this.verdicts(sides), ...(sides.length ? [this.table(sides)] : []));
    } catch (error) {
      this.say(`The records could not be loaded: ${error.message}`);
    }
  }

  say(text) {
    this.status.textContent = text;
  }

  verdicts([first, ...others]) {
    return others.map((other) => {
      const found = heldAgainst(this.rules, first.side, other.side);
      const line = make("p", "kb-verdict");
      line.dataset.kbVerdict = found.verdict;
      line.append(make("strong", "", `${first.side.result} against ${other.side.result}`), `: ${sentenceOf(found)}`);
      return line;
    });
  }

  table(sides) {
    const names = this.rules.settings;
    const rows = names
      .map((name) => ({ name, values: sides.map((each) => own(each.side.settings, name) ?? "") }))
      .filter((row) => row.values.some(Boolean));
    for (const row of rows) row.differs = new Set(row.values).size > 1;
    rows.sort((a, b) => b.differs - a.differs || names.indexOf(a.name) - names.indexOf(b.name));
    const table = make("table", "kb-table");
    const head = table.createTHead().insertRow();
    head.append(make("th", "", "What"), ...sides.map((each) => this.heading(each, sides)));
    const body = table.createTBody();
    const metric = (each) => metricOf(this.rules, each.side.metric)?.title ?? each.side.metric;
    row(body, "Figure", sides.map((each) => each.side.figure));
    row(body, "Metric", sides.map(metric));
    row(body, "Statistic", sides.map((each) => each.side.statistic));
    row(body, "Status of the record", sides.map((each) => each.status));
    for (const each of rows) row(body, each.name, each.values, each.differs);
    const scroller = make("div", "kb-scroll");
    scroller.setAttribute("role", "region");
    scroller.setAttribute("aria-label", "Results side by side");
    scroller.tabIndex = 0;
    scroller.append(table);
    return scroller;
  }

  heading(each, sides) {
    const cell = make("th");
    cell.scope = "col";
    const link = make("a", "", each.title);
    link.href = new URL(`${each.side.ref}.html#${each.side.result}`, root);
    const drop = make("button", "kb-button", "Remove");
    drop.type = "button";
    drop.setAttribute("aria-label", `Remove ${nameOf(each.side)}`);
    drop.addEventListener("click", () => this.go(sides.filter((one) => one !== each).map((one) => nameOf(one.side))));
    cell.append(link, make("small", "", ` ${each.side.result} `), drop);
    return cell;
  }
}

function row(body, name, values, differs) {
  const line = body.insertRow();
  const different = differs ?? new Set(values).size > 1;
  if (different) line.className = "kb-differs";
  const head = make("th", "", name);
  head.scope = "row";
  line.append(head);
  for (const value of values) line.append(make("td", value ? "" : "kb-gap", value || "not stated"));
}

function make(element, className = "", text = "") {
  const made = document.createElement(element);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

const host = document.querySelector("[data-kb-compare]");
if (host) new Comparison(host);
