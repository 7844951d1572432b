/*
From what a reader types or pastes to results: an id with or without its folder and result, the address of a page of this
site, or words. Words are looked for in the explorer's table, which is loaded when they are needed.
*/

const ADDRESS = /(?:^|\/)benchmarks\/([a-z][a-z0-9-]*)(?:\.results-\d+)?\.html(?:#([^#]*))?$/;
const NAME = /^(?:benchmarks\/)?([a-z][a-z0-9-]*)#([a-z0-9][\w.-]*)$/;
const RECORD = /^benchmarks\/[a-z][a-z0-9-]*$/;
const RECORDS = 8; // in the list of what words have found
const OF_A_RECORD = 6;

// The results that a text names beyond doubt; null where it is words, or an id without its folder.
export function namesIn(text) {
  const many = /(?:^|\/)compare\.html\?(?:[^#]*&)?ids=([^&#]*)/.exec(text);
  if (many) return spelled(many[1]).split(",").filter(Boolean);
  const page = ADDRESS.exec(text.replace(/\?[^#]*/, ""));
  // Anchors of results begin with a small letter or a digit, those of sections with a capital.
  if (page) return [`benchmarks/${page[1]}${/^[a-z0-9]/.test(page[2] ?? "") ? `#${spelled(page[2]).replace(/_$/, "")}` : ""}`];
  const name = NAME.exec(text);
  if (name) return [`benchmarks/${name[1]}#${name[2]}`];
  return RECORD.test(text) ? [text] : null;
}

function spelled(text) {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    return text;
  }
}

// What words find: { names } where they are the id of a record, else { count, records }, each record with some results.
export class Finder {
  constructor(root) {
    this.root = root;
  }

  async find(text) {
    const { results, filter } = await this.open();
    const ref = `benchmarks/${text}`;
    if (results.column("ref").codeOf(ref)) return { names: [ref] };
    filter.apply({ all: false, q: text, view: "scatter", metric: "*", facets: {} });
    const rows = filter.among(this.rows);
    const records = new Map();
    for (const row of rows) {
      const code = results.column("ref").codes[row];
      if (!records.has(code) && records.size === RECORDS) continue;
      if (!records.has(code)) records.set(code, []);
      records.get(code).push(row);
    }
    return { count: rows.length, records: Array.from(records.values(), (found) => this.record(found)) };
  }

  record(rows) {
    const { results, figureText } = this;
    const statistic = (row) => [results.column("statistic").text(row)].filter(Boolean);
    const result = (row) => {
      const { title, shown_unit: unit } = results.metric(row);
      const load = [["concurrency", "in flight"], ["input_tok", "in"], ["output_tok", "out"]].map(([name, noun]) => [results.column(name).label(row), noun]);
      const said = load.filter(([number]) => number !== null).map(([number, noun]) => `${number} ${noun}`);
      return { name: results.name(row), text: [`${figureText(results, row)}${unit ? ` ${unit}` : ""}`, title, ...statistic(row), ...said, results.column("result").text(row)].join(", ") };
    };
    return { title: results.column("ref").label(rows[0]), results: rows.slice(0, OF_A_RECORD).map(result), more: Math.max(0, rows.length - OF_A_RECORD) };
  }

  open() {
    this.opening ??= this.load();
    this.opening.catch(() => (this.opening = undefined)); // the next one who asks tries again
    return this.opening;
  }

  async load() {
    const [{ Results }, { Filter }, { figureText }] = await Promise.all(["columns", "filter", "grid"].map((name) => import(`../explore/${name}.js`)));
    const results = await Results.open(new URL("data/explore/", this.root));
    await results.need(["ref", "result", "qualifier", "low", "high"]);
    this.figureText = figureText;
    this.results = results;
    this.rows = Uint32Array.from({ length: results.rows }, (_, row) => row);
    return { results, filter: new Filter(results, results.header.facets) };
  }
}
