/*
What is shown, to take along: every column that the data files have, for the rows that are shown, in their order. A frontier's
files have its second figure, the speed per user, as a column more.

CSV follows kbtool.escape.csv_cell and Python's csv module; JSON keeps the digits of numbers. Text that a
spreadsheet would run as a formula gets an apostrophe in front, in CSV alone.
*/

const SKIPPED = /[\s\p{Cc}\p{Cf}]/u;
const FORMULA = new Set(["=", "+", "-", "@", "\u2212"]);

export function startsLikeAFormula(text) {
  if (/^[\t\r\n]/.test(text)) return true;
  for (const character of text) {
    if (!SKIPPED.test(character)) return FORMULA.has(character.normalize("NFKC")[0]);
  }
  return false;
}

export function csvCell(text, isNumber) {
  if (text === null) return "";
  const safe = !isNumber && startsLikeAFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const ROWS_AT_ONCE = 10_000; // one text of a million rows is longer than a browser's texts may be

function* texts(rows, make) {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) yield Array.from(rows.subarray(from, from + ROWS_AT_ONCE), make).join("");
}

// Both return the parts of a file, to be joined as they are.
export function csv(results, rows, columns = results.header.exported) {
  const numeric = columns.map((name) => results.isNumber(name));
  const head = columns.map((name) => csvCell(name, false)).join(",");
  const line = (row) => `${columns.map((name, at) => csvCell(results.text(name, row), numeric[at])).join(",")}\r\n`;
  return [`${head}\r\n`, ...texts(rows, line)];
}

export function json(results, rows, columns = results.header.exported) {
  const numeric = columns.map((name) => results.isNumber(name));
  const names = columns.map((name) => JSON.stringify(name));
  const cell = (name, at, row) => {
    const text = results.text(name, row);
    return `${names[at]}:${text === null ? "null" : numeric[at] ? text : JSON.stringify(text)}`;
  };
  const last = rows[rows.length - 1];
  const object = (row) => `{${columns.map((name, at) => cell(name, at, row)).join(",")}}${row === last ? "" : ","}\n`;
  return ["[", ...texts(rows, object), "]\n"];
}

export function save(name, parts, type) {
  const address = URL.createObjectURL(parts instanceof Blob ? parts : new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
