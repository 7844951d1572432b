/*
Which rows are shown, and how many there would be for each value of each facet.

Values of one facet add up (A or B), facets narrow (and). A facet's counts leave its own choice aside, so that
they say what choosing another value would show. One bit a row and facet says that the facet turns the row
away: a click sets one bit of each row anew, and counting reads no more than bits and codes.
*/

export class Filter {
  constructor(results, facets) {
    this.results = results;
    this.facets = ["metric", ...facets];
    // One bit each, none of them called as a facet is: what stands, the words searched for, and, in the frontier, whether both of its figures are there.
    this.gates = ["stands", "words", "pair", ...this.facets];
    this.bits = new Uint32Array(results.rows);
    this.keys = new Map();
  }

  // State: all, metric, q, view and facets, as explore/state.js has them. A frontier is of no one metric.
  apply(state) {
    const frontier = state.view === "frontier";
    this.set("stands", String(state.all), () => this.standing(state.all));
    this.set("words", state.q, () => this.matching(state.q));
    this.set("pair", String(frontier), () => (frontier ? this.unpaired() : null));
    for (const name of this.facets) {
      const chosen = name === "metric" ? (state.metric === "*" || frontier ? [] : [state.metric]) : (state.facets[name] ?? []);
      this.set(name, chosen.join("\u0000"), () => this.passing(name, chosen));
    }
  }

  // Works a gate out anew the next time: what it looks at has changed.
  forget(gate) {
    this.keys.set(gate, null);
  }

  set(gate, key, make) {
    if (this.keys.get(gate) === key) return;
    const first = !this.keys.has(gate);
    this.keys.set(gate, key);
    const turned = make();
    const { bits } = this;
    const mark = this.mark(gate);
    if (turned) for (let row = 0; row < bits.length; row += 1) bits[row] = turned(row) ? bits[row] | mark : bits[row] & ~mark;
    else if (!first) for (let row = 0; row < bits.length; row += 1) bits[row] &= ~mark;
  }

  // Returns whether a facet turns a row away; null where it turns none away.
  passing(name, chosen) {
    if (!chosen.length) return null;
    const { codes, words } = this.results.column(name);
    const passes = new Uint8Array(words.length + 1);
    for (const word of chosen) passes[word === null ? 0 : this.results.column(name).codeOf(word)] = 1;
    // A value that no row has shows nothing, and not the rows that state none.
    if (!chosen.includes(null)) passes[0] = 0;
    return (row) => !passes[codes[row]];
  }

  mark(gate) {
    return (1 << this.gates.indexOf(gate)) >>> 0;
  }

  // All but the bits of these gates.
  others(gates) {
    return ~gates.reduce((bits, gate) => bits | this.mark(gate), 0);
  }

  standing(all) {
    const { stands } = this.results;
    return all ? null : (row) => !stands[row];
  }

  unpaired() {
    const speed = this.results.column("user_tok_s");
    const throughput = this.results.column("per_accelerator");
    return (row) => speed.isNull(row) || throughput.isNull(row);
  }

  // Every word has to occur in some column. Returns whether a row is turned away; null where none is.
  matching(q) {
    const words = fold(q).split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    const columns = this.results.header.searched.filter((name) => this.results.has(name)).map((name) => this.results.column(name));
    const tests = words.map((word) =>
      columns
        .map((column) => {
          const folded = (column.made.folded ??= column.words.map((each, at) => fold(`${each} ${column.labels ? column.labels[at] : ""}`)));
          const hit = Uint8Array.from([0, ...folded.map((text) => (text.includes(word) ? 1 : 0))]);
          return { codes: column.codes, hit };
        })
        .filter(({ hit }) => hit.includes(1)),
    );
    return (row) => !tests.every((each) => each.some(({ codes, hit }) => hit[codes[row]] === 1));
  }

  // Rows that pass, in the order of others.
  among(order) {
    const { bits } = this;
    const rows = new Uint32Array(order.length);
    let count = 0;
    for (let at = 0; at < order.length; at += 1) if (bits[order[at]] === 0) rows[count++] = order[at];
    return rows.subarray(0, count);
  }

  // How many rows would pass without some gates.
  without(...gates) {
    const others = this.others(gates);
    const { bits } = this;
    let count = 0;
    for (let row = 0; row < bits.length; row += 1) if ((bits[row] & others) === 0) count += 1;
    return count;
  }

  // Rows for each code of a facet's column, the other facets applied; a metric is counted whether or not it has pairs.
  counts(name) {
    const { codes, words } = this.results.column(name);
    const counts = new Uint32Array(words.length + 1);
    const others = this.others(name === "metric" ? [name, "pair"] : [name]);
    const { bits } = this;
    for (let row = 0; row < bits.length; row += 1) if ((bits[row] & others) === 0) counts[codes[row]] += 1;
    return counts;
  }
}

// Lower case, without accents and compatibility forms: kbtool.site.search folds alike.
export function fold(text) {
  return text.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
}
