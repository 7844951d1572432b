/*
The search itself, without any element of a page: loads the files that kbtool/site/search.py wrote,
and answers queries. `search.js` draws the answers.

  const index = await SearchIndex.load(new URL("search/", root));
  index.find("rtx 6853")             -> { hits: [{ doc, score }], total: 3, hidden: 0 }
  await index.reach("rtx 6853")      fetches the prose words it may need; then ask `find` again

Every term of a query must match, as a whole word, as the start of one, or with one letter wrong, but no digit.
All texts are data of strangers: they are compared, never run, and keyed by Map.
*/

const WORD = /[\p{L}\p{N}]+(?:[.,\-_/+:'\u2019@=&#][\p{L}\p{N}]+)*/gu;
const PART = /[\p{L}\p{N}]+(?:[.\-_'\u2019][\p{L}\p{N}]+)*/gu;
const PIECE = /[\p{L}\p{N}]+(?:\.[\p{L}\p{N}]+)*/gu;
const ATOM = /[\p{L}\p{N}]+/gu;
const GROUPED = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;
const DECIMAL = /^\d+\.\d+$/;

const MAX_TERMS = 12;
const MAX_SHARDS_PER_TERM = 4;
// Where a word stands decides what it weighs.
const ID = 6, TITLE = 5, NUMBER = 5, KEYWORD = 3, PROSE = 1;
const WITHDRAWN = new Set(["retracted", "superseded"]);

export function fold(text) {
  return text.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "");
}

// The words of a text as they stand; `6,853` as `6853`.
export function terms(text) {
  const words = fold(text).match(WORD) || [];
  return words.map((word) => (GROUPED.test(word) ? word.replaceAll(",", "") : word));
}

// Every form under which a word can be found; the same as `words_of` in kbtool/site/search.py.
export function forms(word) {
  if (DECIMAL.test(word)) return [word];
  const all = new Set([word, ...word.match(PART)]);
  for (const piece of word.match(PIECE)) {
    all.add(piece);
    if (!DECIMAL.test(piece)) for (const atom of piece.match(ATOM)) all.add(atom);
  }
  return all;
}

// One letter added, left out, replaced, or two neighbours exchanged.
export function withinOneEdit(a, b) {
  if (a.length > b.length) [a, b] = [b, a];
  if (b.length - a.length > 1) return false;
  let i = 0;
  while (i < a.length && a[i] === b[i]) i += 1;
  if (a.length < b.length) return a.slice(i) === b.slice(i + 1);
  return (
    a.slice(i + 1) === b.slice(i + 1) ||
    (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2))
  );
}

// Words, the documents that have them, and the weight of the place they have them in.
class Vocabulary {
  constructor() {
    this.postings = new Map();
    this.sorted = null;
  }

  // Documents are added one after the other, so that only the last one can be there already.
  add(word, doc, weight) {
    const posting = this.postings.get(word);
    if (!posting) {
      this.postings.set(word, { docs: [doc], weights: [weight] });
      this.sorted = null;
      return;
    }
    const last = posting.docs.length - 1;
    if (posting.docs[last] !== doc) {
      posting.docs.push(doc);
      posting.weights.push(weight);
    } else if (posting.weights[last] < weight) {
      posting.weights[last] = weight;
    }
  }

  // Calls `found(posting, quality)` for each word that is `term` or starts with it; says whether any does.
  match(term, found) {
    const words = this.inOrder();
    const first = lowerBound(words, term);
    let at = first;
    for (; at < words.length && words[at].startsWith(term); at += 1) {
      const exact = words[at].length === term.length;
      found(this.postings.get(words[at]), exact ? 1 : 0.3 + (0.4 * term.length) / words[at].length);
    }
    return at > first;
  }

  // The same for words that are `term` with one slip. Numbers and short words have none: `h200` is no slip of `h100`.
  matchMisspelt(term, found) {
    if (term.length < 4 || !/\p{L}{2}/u.test(term)) return;
    const digits = digitsOf(term);
    for (const word of this.inOrder()) {
      if (Math.abs(word.length - term.length) <= 1 && withinOneEdit(word, term) && digitsOf(word) === digits) {
        found(this.postings.get(word), 0.25);
      }
    }
  }

  inOrder() {
    return (this.sorted ??= Array.from(this.postings.keys()).sort(byCodeUnits));
  }
}

function digitsOf(word) {
  return word.replace(/\P{N}+/gu, "");
}

function byCodeUnits(a, b) {
  return a < b ? -1 : Number(a > b);
}

function lowerBound(words, term) {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (words[middle] < term) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class SearchIndex {
  static async load(base) {
    const response = await fetch(new URL("quick.json.gz", base));
    if (!response.ok) throw new Error(`search index: HTTP ${response.status}`);
    return new SearchIndex(JSON.parse(await inflated(await response.arrayBuffer())), base);
  }

  constructor(quick, base) {
    this.base = base;
    this.shards = quick.shards;
    this.fetched = new Map();
    this.words = new Vocabulary();
    this.docs = quick.title.map((title, number) => {
      const kind = quick.kinds[quick.kind[number]];
      const id = quick.id[number];
      return {
        number,
        title,
        id,
        kind,
        status: quick.statuses[quick.status[number]],
        url: quick.url[number] || `${kind}s/${id}.html`,
        keywords: quick.keys[number].map((key) => quick.keywords[key]),
        figure: quick.numbers[number].split("\n")[0],
        length: 1,
      };
    });
    const formsOf = remembered((word) => Array.from(forms(word)));
    const read = (text, doc, weight) => {
      const words = terms(text);
      for (const word of words) for (const form of formsOf(word)) this.words.add(form, doc, weight);
      return words.length;
    };
    const formsOfKeyword = quick.keywords.map((keyword) => terms(keyword).flatMap(formsOf));
    this.docs.forEach((doc, number) => {
      doc.length = read(doc.title, number, TITLE) || 1;
      read(doc.id, number, ID);
      read(doc.kind, number, PROSE);
      for (const key of quick.keys[number]) for (const form of formsOfKeyword[key]) this.words.add(form, number, KEYWORD);
      read(quick.numbers[number], number, NUMBER);
    });
  }

  // `misspelt` also takes words with a slip, for terms that match nothing as they are; ask for it when
  // the prose has been reached, or a rare word is taken for a slip of a common one.
  find(query, { limit = 50, withdrawn = false, misspelt = false } = {}) {
    const wanted = queryTerms(query);
    if (!wanted.length) return { hits: [], hidden: 0, total: 0 };
    const scores = this.scoresOf(wanted[0], misspelt);
    for (const term of wanted.slice(1)) {
      const found = this.scoresOf(term, misspelt);
      for (const [doc, score] of scores) {
        if (found.has(doc)) scores.set(doc, score + found.get(doc));
        else scores.delete(doc);
      }
    }
    const phrase = wanted.join(" ");
    const hits = [];
    let hidden = 0;
    for (const [number, score] of scores) {
      const doc = this.docs[number];
      const named = fold(doc.id) === phrase;
      if (WITHDRAWN.has(doc.status) && !withdrawn && !named) hidden += 1;
      else hits.push({ doc, score: score + this.bonus(doc, wanted, phrase, named) });
    }
    hits.sort((a, b) => b.score - a.score || a.doc.number - b.doc.number);
    return { hits: hits.slice(0, limit), hidden, total: hits.length };
  }

  // The page that is about the words comes before pages that mention them.
  bonus(doc, wanted, phrase, named) {
    const title = terms(doc.title).join(" ");
    const whole = ` ${title} `.includes(` ${phrase} `) ? 4 : 0;
    const share = wanted.filter((term) => title.includes(term)).length / doc.length;
    return (named ? 100 : 0) + whole + 6 * Math.min(1, share);
  }

  scoresOf(term, misspelt) {
    const scores = new Map();
    const add = ({ docs, weights }, quality) => {
      for (let at = 0; at < docs.length; at += 1) {
        const score = quality * weights[at];
        if ((scores.get(docs[at]) || 0) < score) scores.set(docs[at], score);
      }
    };
    if (this.words.match(term, add)) return scores;
    const parts = term.match(ATOM);
    if (parts.length > 1) {
      // No word is written like that: all of its parts will do.
      const found = parts.map((part) => this.scoresOf(part, misspelt));
      for (const [doc, score] of found[0]) {
        if (found.every((other) => other.has(doc))) scores.set(doc, score / 2);
      }
    }
    if (misspelt && !scores.size) this.words.matchMisspelt(term, add);
    return scores;
  }

  // Fetches the shards of prose words that the query may need.
  async reach(query) {
    const needed = new Set();
    for (const term of queryTerms(query)) {
      for (const word of new Set([term, ...(term.match(ATOM) || [])])) {
        if (word.length < 2 && word !== term) continue;
        const first = Math.max(0, lowerBound(this.shards, word) - (this.shards.includes(word) ? 0 : 1));
        for (let at = first; at < first + MAX_SHARDS_PER_TERM && at < this.shards.length; at += 1) {
          if (at > first && !this.shards[at].startsWith(word)) break;
          needed.add(at);
        }
      }
    }
    await Promise.all(Array.from(needed, (shard) => this.fetched.get(shard) || this.fetchShard(shard)));
  }

  fetchShard(shard) {
    const done = this.readShard(shard).catch((error) => {
      this.fetched.delete(shard); // the next query tries again
      throw error;
    });
    this.fetched.set(shard, done);
    return done;
  }

  async readShard(shard) {
    const response = await fetch(new URL(`words-${String(shard).padStart(3, "0")}.json`, this.base));
    if (!response.ok) throw new Error(`search index: HTTP ${response.status}`);
    const { words, docs } = await response.json();
    words.forEach((word, at) => {
      let number = 0;
      for (const distance of docs[at]) this.words.add(word, (number += distance), PROSE);
    });
  }
}

function remembered(compute) {
  const known = new Map();
  return (word) => {
    let value = known.get(word);
    if (value === undefined) known.set(word, (value = compute(word)));
    return value;
  };
}

function queryTerms(query) {
  return Array.from(new Set(terms(query))).slice(0, MAX_TERMS);
}

// The file is compressed whatever the host does; a host that undoes it by itself is fine too.
async function inflated(buffer) {
  const bytes = new Uint8Array(buffer);
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
