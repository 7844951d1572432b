/*
The order of rows. Each column is ranked once, in time that grows with the number of rows alone; sorting is
then one pass a column, and a filter only walks the order that is there.

Null comes last in either direction, rows that are equal stay in the order of their records, and what
compares only within one metric and one comparison class is sorted within those.
*/

const BITS = 16;
const BUCKETS = 1 << BITS;

// Dense ranks from 1 on, equal for equal values; 0 is null.
export function ranks(column) {
  if (!column.made.ranks) column.made.ranks = column.codes ? ofCodes(column) : ofNumbers(column.numbers());
  return column.made.ranks;
}

function ofCodes(column) {
  if (column.kind === "text") return { of: column.codes, size: column.words.length + 1 };
  // Words of numbers are sorted by value; 0.7 and 0.70 are two words and one value.
  const dense = new Uint32Array(column.words.length + 1);
  let rank = 0;
  column.words.forEach((word, at) => {
    if (!at || Number(word) !== Number(column.words[at - 1])) rank += 1;
    dense[at + 1] = rank;
  });
  const of = new Uint32Array(column.codes.length);
  for (let row = 0; row < of.length; row += 1) of[row] = dense[column.codes[row]];
  return { of, size: rank + 1 };
}

function ofNumbers(numbers) {
  const rows = numbers.length;
  const words = new Uint32Array(numbers.slice().buffer);
  const low = new Uint32Array(rows);
  const high = new Uint32Array(rows);
  // Doubles as whole numbers of the same order: the sign bit turned, all bits of the negative ones.
  for (let row = 0; row < rows; row += 1) {
    const negative = words[2 * row + 1] >>> 31;
    low[row] = negative ? ~words[2 * row] : words[2 * row];
    high[row] = negative ? ~words[2 * row + 1] : words[2 * row + 1] | 0x80000000;
  }
  let order = Uint32Array.from({ length: rows }, (_, row) => row);
  const digits = new Uint16Array(rows);
  for (const [key, shift] of [[low, 0], [low, BITS], [high, 0], [high, BITS]]) {
    for (let row = 0; row < rows; row += 1) digits[row] = key[row] >>> shift;
    order = pass(order, digits, BUCKETS);
  }
  const of = new Uint32Array(rows);
  let rank = 0;
  let before = NaN;
  for (const row of order) {
    const number = numbers[row];
    if (Number.isNaN(number)) continue;
    if (number !== before) rank += 1;
    before = number;
    of[row] = rank;
  }
  return { of, size: rank + 1 };
}

// One stable pass of a counting sort over keys below `buckets`, which stand by row.
function pass(order, keys, buckets) {
  const start = new Uint32Array(buckets + 1);
  for (let at = 0; at < order.length; at += 1) start[keys[order[at]] + 1] += 1;
  for (let bucket = 0; bucket < buckets; bucket += 1) start[bucket + 1] += start[bucket];
  const sorted = new Uint32Array(order.length);
  for (let at = 0; at < order.length; at += 1) {
    const row = order[at];
    sorted[start[keys[row]]++] = row;
  }
  return sorted;
}

// Keys of one column: null last in either direction.
function keysOf({ of, size }, name, descending) {
  // Of a closed class, null means that it compares freely: those come first.
  const last = name === "comparison_class" ? 0 : size;
  const keys = new Uint32Array(of.length);
  for (let row = 0; row < of.length; row += 1) keys[row] = of[row] ? (descending ? size - of[row] : of[row]) : last;
  return keys;
}

// Rows in the order of a column: { name, descending }; without one, in that of the records. The figures of a frontier are
// of one kind, whichever metric they were worked out from.
export function ordered(results, sort, rows, frontier = false) {
  if (!sort) return rows;
  const measured = results.header.measures.includes(sort.name);
  const within = !measured ? [] : frontier ? ["comparison_class"] : ["comparison_class", "metric"];
  const keys = [sort, ...within.map((name) => ({ name }))];
  let order = rows;
  for (const { name, descending } of keys) {
    const ranked = ranks(results.column(name));
    order = pass(order, keysOf(ranked, name, descending), ranked.size + 1);
  }
  return order;
}
