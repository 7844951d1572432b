/*
What a chart holds, decided before anything is drawn: points with their places, lines, axes, and what was left
out and why.

Only one metric, one kind of statistic and one comparison class stand on an axis. A line joins results of one
setup that differ in the swept condition alone; where two of them share its value, something that no column
holds tells them apart, and they stay points. In the frontier one configuration is one point, whose figures
the build has paired (kbtool/analysis/sweeps.py).
*/

import { extent, makeScale, wantsLog } from "./scales.js";

export const MOST_DOTS = 20_000; // above, darkness stands for the number of points
export const COLOURS = 7; // values with a colour of their own; the rest is grey

const LOADS = ["concurrency", "request_rate_req_s"];

// The comparison classes and statistics among rows, each with its number of rows, the most frequent first.
export function pools(results, rows) {
  return tally(results.column("comparison_class"), rows);
}

export function statisticKinds(results, rows) {
  const column = results.column("statistic");
  const kindOf = kinds(results);
  const counts = new Map();
  const byCode = new Uint32Array(column.words.length + 1);
  for (const row of rows) byCode[column.codes[row]] += 1;
  byCode.forEach((count, code) => {
    if (count) counts.set(kindOf[code], (counts.get(kindOf[code]) ?? 0) + count);
  });
  return Array.from(counts).sort((a, b) => b[1] - a[1]);
}

// Code of a statistic -> the kind that it belongs to.
function kinds(results) {
  const { statistics } = results.header;
  const names = Object.keys(statistics);
  const kindOf = (word) => names.find((name) => statistics[name].includes(word)) ?? String(word);
  return [null, ...results.column("statistic").words].map(kindOf);
}

function tally(column, rows) {
  const counts = new Uint32Array(column.words.length + 1);
  for (const row of rows) counts[column.codes[row]] += 1;
  return Array.from(counts, (count, code) => [code ? column.words[code - 1] : null, count]).filter(([, count]) => count);
}

// The first axis that a quarter of the rows have with more than one value; they stand in the order in which they are asked for.
export function usualAxis(results, rows) {
  for (const name of results.header.axes) {
    const column = results.column(name);
    const numbers = column.numbers();
    let count = 0;
    let other = false;
    let first = NaN;
    for (const row of rows) {
      if (column.isNull(row)) continue;
      count += 1;
      if (Number.isNaN(first)) first = numbers[row];
      else if (numbers[row] !== first) other = true;
    }
    if (other && count * 4 >= rows.length) return name;
  }
  return results.header.axes[0];
}

export function makeScene(results, rows, choice, size) {
  const frontier = choice.view === "frontier";
  const x = results.column(frontier ? "user_tok_s" : choice.x).numbers();
  const y = results.column(frontier || choice.y === "per_accelerator" ? "per_accelerator" : "value").numbers();
  const kept = keptRows(results, rows, choice, x, y);
  const count = kept.rows.length;
  const xs = new Float64Array(count);
  const ys = new Float64Array(count);
  for (let at = 0; at < count; at += 1) {
    xs[at] = x[kept.rows[at]];
    ys[at] = y[kept.rows[at]];
  }
  const scene = { ...kept, count, xs, ys, choice, size, dense: count > MOST_DOTS, lines: [] };
  if (!count) return scene;
  scene.colour = coloured(results.column(choice.by), kept.rows);
  layOut(scene, extent(xs), extent(ys));
  if (choice.view !== "scatter" && !scene.dense) scene.lines = joinable(results, scene, frontier ? LOADS : [choice.x]);
  return scene;
}

function keptRows(results, rows, choice, x, y) {
  const pool = results.column("comparison_class");
  const wanted = choice.pool === null ? 0 : pool.codeOf(choice.pool);
  const statistic = results.column("statistic");
  const kindOf = kinds(results);
  const left = { class: 0, statistic: 0, x: 0, y: 0, fallen: 0 };
  const kept = new Uint32Array(rows.length);
  let count = 0;
  for (const row of rows) {
    if (!results.stands[row]) left.fallen += 1;
    else if (pool.codes[row] !== wanted) left.class += 1;
    else if (choice.view !== "frontier" && kindOf[statistic.codes[row]] !== choice.stat) left.statistic += 1;
    else if (Number.isNaN(y[row])) left.y += 1;
    else if (Number.isNaN(x[row])) left.x += 1;
    else kept[count++] = row;
  }
  return { rows: kept.subarray(0, count), left };
}

function coloured(column, rows) {
  const counts = tallyCodes(column, rows);
  const order = Array.from(counts.keys()).filter((code) => counts[code]).sort((a, b) => counts[b] - counts[a] || a - b);
  const own = order.length > COLOURS + 1 ? order.slice(0, COLOURS) : order;
  const of = new Uint8Array(counts.length).fill(COLOURS + 1);
  const legend = own.map((code, at) => {
    of[code] = at + 1;
    return { colour: at + 1, code, label: code ? column.wordLabel(code) : "not stated", count: counts[code] };
  });
  const rest = order.slice(own.length);
  if (rest.length) {
    const count = rest.reduce((sum, code) => sum + counts[code], 0);
    legend.push({ colour: COLOURS + 1, code: null, label: `${rest.length} more`, count });
  }
  return { legend, of: (row) => of[column.codes[row]] };
}

function tallyCodes(column, rows) {
  const counts = new Uint32Array(column.words.length + 1);
  for (const row of rows) counts[column.codes[row]] += 1;
  return counts;
}

function layOut(scene, xRange, yRange) {
  const { width, height } = scene.size;
  const logOf = (chosen, range) => (chosen === "" ? wantsLog(range) : chosen === "1" && range[0] > 0);
  const box = { left: 58, right: width - 14, top: 30, bottom: height - 44 };
  scene.box = box;
  scene.x = makeScale(xRange, logOf(scene.choice.logx, xRange), box.left, box.right);
  scene.y = makeScale(yRange, logOf(scene.choice.logy, yRange), box.bottom, box.top);
  scene.px = Float32Array.from(scene.xs, scene.x.at);
  scene.py = Float32Array.from(scene.ys, scene.y.at);
}

// Indexes of points in the order of each line.
function joinable(results, scene, swept) {
  const setup = results.column("setup").numbers();
  const statistic = results.column("statistic").codes;
  const axes = results.header.axes.filter((name) => !swept.includes(name)).map((name) => results.column(name));
  const order = swept.map((name) => results.column(name).numbers());
  const groups = new Map();
  for (let at = 0; at < scene.count; at += 1) {
    const row = scene.rows[at];
    const key = [setup[row], scene.choice.view === "frontier" ? "" : statistic[row], ...axes.map((column) => column.text(row))].join("\u0000");
    const group = groups.get(key);
    if (group) group.push(at);
    else groups.set(key, [at]);
  }
  const lines = [];
  for (const group of groups.values()) {
    if (group.length < 2) continue;
    const place = (at) => order.map((numbers) => numbers[scene.rows[at]]);
    const compare = (a, b) => {
      const [one, other] = [place(a), place(b)];
      for (let each = 0; each < one.length; each += 1) {
        const apart = (Number.isNaN(one[each]) ? -1 : one[each]) - (Number.isNaN(other[each]) ? -1 : other[each]);
        if (apart) return apart;
      }
      return 0;
    };
    group.sort(compare);
    const distinct = group.every((at, index) => !index || compare(group[index - 1], at) !== 0);
    const oneSwept = order.filter((numbers) => new Set(group.map((at) => String(numbers[scene.rows[at]]))).size > 1).length === 1;
    if (distinct && oneSwept) lines.push(group);
  }
  return lines;
}
