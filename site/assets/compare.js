/*
Two to six results side by side: `compare.html?ids=benchmarks/a#x,benchmarks/b#y` (with # as %23).

`heldAgainst` is `kbtool.analysis.compare.held_against` in this language, over the same facts of each side, which the data
file of a record holds under "comparison". Words and tables of the rules come from data/comparison-rules.json, which Python
writes. tests/browser/test_compare_page.py holds the two equal over all pairs of several hundred results.

Nothing here writes HTML: every text of a record goes through textContent.

  compare.js       the rules
  compare/page.js  the page: verdicts, table, what was named
  compare/find.js  the field: from an id, an address or words to results
*/

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

export const nameOf = (side) => `${side.ref}#${side.result}`;
export const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

export function metricOf(rules, id) {
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
    if (rules.loads.includes(name) && own(rules.families, one.metric) !== undefined) continue;
    found.push(`another ${rules.names[name]}: ${a} against ${b}`);
  }
  const loads = loadsOf(rules, one, other);
  if (loads && !loads.near) found.push(`another ${rules.names[loads.name]}: ${loads.words}`);
  if (one.decreed !== other.decreed) found.push(`drafts of ${nameOf(one.decreed ? one : other)} were accepted by decree`);
  return found;
}

// How much two systems were asked at once: as it is told, then in proportion to the accelerators where the throughputs are per one.
function loadsOf(rules, one, other) {
  const name = rules.loads.find((each) => Object.hasOwn(one.told, each) && Object.hasOwn(other.told, each));
  if (own(rules.families, one.metric) === undefined || name === undefined) return null;
  const told = [one, other].map((side) => side.told[name]);
  const [a, b] = told.map((text) => decimal(text.replaceAll(",", "")));
  const pairs = [[a.digits * 10n ** BigInt(b.places), b.digits * 10n ** BigInt(a.places)]];
  let words = `${told[0]} against ${told[1]}`;
  const counts = [one.accelerators, other.accelerators];
  const isShared = isPerAccelerator(rules, one, other) || metricOf(rules, one.metric).scope === "accelerator";
  if (isShared && !counts.includes(null) && counts[0] !== counts[1]) {
    pairs.push([pairs[0][0] * BigInt(counts[1]), pairs[0][1] * BigInt(counts[0])]);
    words = `${told[0]} on ${counts[0]} accelerators against ${told[1]} on ${counts[1]}`;
  }
  const isNear = ([x, y]) => (x > y ? x : y) <= BigInt(rules.near_load) * (x > y ? y : x);
  return { name, words, equal: pairs.some(([x, y]) => x === y), near: pairs.some(isNear) };
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
  const loads = loadsOf(rules, one, other);
  if (loads && !loads.equal) found.push(`the ${rules.names[loads.name]} is near and not equal: ${loads.words}`);
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

const host = document.querySelector("[data-kb-compare]");
if (host) import("./compare/page.js").then(({ Comparison }) => new Comparison(host));
