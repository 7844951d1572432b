/*
The table of all results, in typed columns: reads the files that kbtool/site/explore/pack.py writes and
describes. A column is one of three kinds:

  text     codes into a sorted list of words; 0 is null
  number   the same, where the words are numbers
  digits   numbers with the digits that were published: 93.90 stays 93.90

`Results` joins the parts of one build. What follows from the metric (unit, scope, tokens) and the title,
which the reference stands for, are columns too, and stored nowhere.
*/

const MAGIC = 0x3163626b; // "kbc1"
const NULL_SCALE = 255;
const NEGATIVE = 128;

export class Column {
  constructor(name, kind, rows) {
    this.name = name;
    this.kind = kind;
    this.rows = rows;
    this.words = null;
    this.labels = null;
    this.codes = null;
    this.scales = null;
    this.whole = null;
    this.made = {};
    this.ungrouped = false; // a number that is a name, as a year is
  }

  isNull(row) {
    return this.codes ? this.codes[row] === 0 : this.scales[row] === NULL_SCALE;
  }

  // The exact text of a cell; null where nothing is stated.
  text(row) {
    if (this.codes) {
      const code = this.codes[row];
      return code ? this.words[code - 1] : null;
    }
    const scale = this.scales[row];
    return scale === NULL_SCALE ? null : this.numbers()[row].toFixed(scale % NEGATIVE);
  }

  // What a reader is shown: the title behind a reference, a number with separators.
  label(row) {
    if (this.labels && this.codes[row]) return this.labels[this.codes[row] - 1];
    const text = this.text(row);
    return text === null || this.kind === "text" || this.ungrouped ? text : grouped(text);
  }

  wordLabel(code) {
    if (this.labels) return this.labels[code - 1];
    return this.kind === "number" && !this.ungrouped ? grouped(this.words[code - 1]) : this.words[code - 1];
  }

  // Numbers of all rows, NaN for null. Whole digits over a power of ten: the nearest double there is.
  numbers() {
    if (this.made.numbers) return this.made.numbers;
    const numbers = new Float64Array(this.rows);
    if (this.codes) {
      const values = Float64Array.from(["NaN", ...this.words], Number);
      for (let row = 0; row < this.rows; row += 1) numbers[row] = values[this.codes[row]];
    } else {
      const tens = Float64Array.from({ length: NEGATIVE }, (_, power) => Number(`1e${power}`));
      const { scales, whole } = this;
      for (let row = 0; row < this.rows; row += 1) {
        const scale = scales[row];
        if (scale < NEGATIVE) numbers[row] = whole[row] / tens[scale];
        else numbers[row] = scale === NULL_SCALE ? NaN : -whole[row] / tens[scale - NEGATIVE];
      }
      this.whole = null;
    }
    this.made.numbers = numbers;
    return numbers;
  }

  codeOf(word) {
    this.made.codeOf ??= new Map(this.words.map((each, at) => [each, at + 1]));
    return this.made.codeOf.get(word) ?? 0;
  }
}

// Distinct values of a column among rows, null included: their codes, at most as many as are asked for.
export function distinct(column, rows, most) {
  const seen = new Uint8Array(column.words.length + 1);
  const found = [];
  for (let at = 0; at < rows.length && found.length < most; at += 1) {
    const code = column.codes[rows[at]];
    if (seen[code]) continue;
    seen[code] = 1;
    found.push(code);
  }
  return found;
}

export function grouped(digits) {
  const [whole, fraction] = digits.split(".");
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? separated : `${separated}.${fraction}`;
}

async function inflated(response) {
  const raw = await response.arrayBuffer();
  const bytes = new Uint8Array(raw);
  // A host may have taken the compression off already.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return raw;
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export function decode(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("not a file of columns");
  const length = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  let offset = 8 + length;
  const plane = () => {
    const found = new Uint8Array(buffer, offset, header.rows);
    offset += header.rows;
    return found;
  };
  const columns = header.columns.map((head) => {
    const column = new Column(head.name, head.kind, header.rows);
    if (head.kind === "digits") {
      column.scales = plane();
      column.whole = joined(Array.from({ length: head.planes }, plane), header.rows);
    } else {
      column.words = head.words;
      column.labels = head.labels ?? null;
      column.codes = joined(Array.from({ length: head.planes }, plane), header.rows);
    }
    return column;
  });
  return { header, columns };
}

// Numbers from their planes, in the smallest type that holds them.
function joined(planes, rows) {
  if (planes.length === 1) return planes[0];
  const made = planes.length === 2 ? new Uint16Array(rows) : planes.length <= 4 ? new Uint32Array(rows) : new Float64Array(rows);
  let factor = 1;
  for (const plane of planes) {
    for (let row = 0; row < rows; row += 1) made[row] += plane[row] * factor;
    factor *= 256;
  }
  return made;
}

export class Results {
  constructor(base) {
    this.base = base;
    this.columns = new Map();
    this.loading = new Map();
  }

  static async open(base) {
    const results = new Results(base);
    results.header = (await results.part("main")).header;
    results.rows = results.header.rows;
    results.derive();
    return results;
  }

  part(name) {
    if (!this.loading.has(name)) {
      const reading = this.read(name);
      reading.catch(() => this.loading.delete(name)); // the next one who asks tries again
      this.loading.set(name, reading);
    }
    return this.loading.get(name);
  }

  async read(name) {
    const response = await fetch(new URL(`${name}.bin.gz`, this.base));
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    const part = decode(await inflated(response));
    if (this.header && part.header.build !== this.header.build) throw new Error("the site was built anew: load the page again");
    const { ungrouped } = this.header ?? part.header;
    for (const column of part.columns) {
      column.ungrouped = ungrouped.includes(column.name);
      this.columns.set(column.name, column);
    }
    return part;
  }

  // Makes sure that columns are here.
  async need(names) {
    const { parts } = this.header;
    const missing = names.filter((name) => !this.columns.has(name === "title" ? "ref" : name));
    const wanted = Object.keys(parts).filter((part) => missing.some((name) => parts[part].includes(name === "title" ? "ref" : name)));
    await Promise.all(wanted.map((part) => this.part(part)));
  }

  has(name) {
    return this.columns.has(name) || (name === "title" && this.columns.has("ref"));
  }

  column(name) {
    return this.columns.get(name);
  }

  metric(row) {
    return this.header.metrics[this.column("metric").text(row)];
  }

  // The exact text of any column that is exported, also of those that are not stored.
  text(name, row) {
    return name === "title" ? this.column("ref").label(row) : this.column(name).text(row);
  }

  isNumber(name) {
    return name !== "title" && this.column(name).kind !== "text";
  }

  derive() {
    const metric = this.column("metric");
    metric.labels = metric.words.map((word) => this.header.metrics[word].title);
    for (const name of ["unit", "scope", "tokens"]) {
      const of = metric.words.map((word) => this.header.metrics[word][name]);
      const column = new Column(name, "text", this.rows);
      column.words = Array.from(new Set(of)).filter(Boolean).sort();
      const codes = Uint8Array.from([0, ...of.map((word) => column.words.indexOf(word) + 1)]);
      column.codes = new Uint8Array(this.rows);
      for (let row = 0; row < this.rows; row += 1) column.codes[row] = codes[metric.codes[row]];
      this.columns.set(name, column);
    }
    // Neither withdrawn nor of a record that was retracted or superseded: kbtool.analysis.rows.Row.stands.
    const status = this.column("status");
    const standing = this.column("standing");
    const fallen = [status.codeOf("retracted"), status.codeOf("superseded")].filter(Boolean);
    const withdrawn = standing.codeOf("withdrawn");
    this.stands = new Uint8Array(this.rows).fill(1);
    if (!fallen.length && !withdrawn) return;
    for (let row = 0; row < this.rows; row += 1) {
      if ((withdrawn && standing.codes[row] === withdrawn) || fallen.includes(status.codes[row])) this.stands[row] = 0;
    }
  }

  isDraft(row) {
    return this.column("status").text(row) === "draft";
  }

  isDisputed(row) {
    return this.column("status").text(row) === "disputed" || this.column("standing").text(row) === "disputed";
  }

  family(word) {
    return word === null ? undefined : this.header.families.find((each) => word.startsWith(each.prefix));
  }

  // What a result is called: reference and result.
  name(row) {
    return `${this.column("ref").text(row)}#${this.column("result").text(row)}`;
  }

  // Page and anchor of a result, from the root of the site.
  place(row) {
    const ref = this.column("ref").text(row);
    const page = Number(this.column("page").text(row));
    const result = this.column("result").text(row);
    const anchor = this.header.anchors[result] ?? result;
    return `${ref}${page === 1 ? "" : `.results-${page}`}.html#${encodeURIComponent(anchor)}`;
  }
}
