/*
Which rows are shown, and how many there would be for each value of each facet.

Values of one facet add up (A or B), facets narrow (and). A facet's counts leave its own choice aside, so that
they say what choosing another value would show. One bit a row and facet says that the facet turns the row
away: a click sets one bit of each row anew, and counting reads no more than bits and codes.
*/

const UNIVERSE = 0; // bit of what no facet is: standing and free text

export class Filter {
  constructor(results, facets) {
    this.results = results;
    this.facets = ["metric", ...facets];
    this.bits = new Uint32Array(results.rows);
    this.keys = new Map();
  }

  // State: all, metric, q and facets, as explore/state.js has them.
  apply(state) {
    this.set(UNIVERSE, JSON.stringify([state.all, state.q]), () => this.universe(state));
    this.facets.forEach((name, at) => {
      const chosen = name === "metric" ? (state.metric === "*" ? [] : [state.metric]) : (state.facets[name] ?? []);
      this.set(at + 1, chosen.join("\u0000"), () => this.passing(name, chosen));
    });
  }

  set(bit, key, make) {
    if (this.keys.get(bit) === key) return;
    const first = !this.keys.has(bit);
    this.keys.set(bit, key);
    const turned = make();
    const { bits } = this;
    const mark = (1 << bit) >>> 0;
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

  universe({ all, q }) {
    const { stands } = this.results;
    const found = this.matching(q);
    if (all && found === null) return null;
    return (row) => (!all && !stands[row]) || (found !== null && !found(row));
  }

  // Every word has to occur in some column.
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
    return (row) => tests.every((each) => each.some(({ codes, hit }) => hit[codes[row]] === 1));
  }

  // Rows that pass, in the order of others: of all rows, or without what one facet turns away.
  among(order, without = null) {
    const others = without === null ? -1 : ~(1 << (this.facets.indexOf(without) + 1));
    const { bits } = this;
    const rows = new Uint32Array(order.length);
    let count = 0;
    for (let at = 0; at < order.length; at += 1) if ((bits[order[at]] & others) === 0) rows[count++] = order[at];
    return rows.subarray(0, count);
  }

  // Rows for each code of a facet's column, the other facets applied.
  counts(name) {
    const { codes, words } = this.results.column(name);
    const counts = new Uint32Array(words.length + 1);
    const others = ~(1 << (this.facets.indexOf(name) + 1));
    const { bits } = this;
    for (let row = 0; row < bits.length; row += 1) if ((bits[row] & others) === 0) counts[codes[row]] += 1;
    return counts;
  }
}

// Lower case, without accents and compatibility forms: kbtool.site.search folds alike.
export function fold(text) {
  return text.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
}
