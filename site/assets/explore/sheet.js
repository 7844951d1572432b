/*
A chart to be taken along, as PNG or SVG, with all that it needs away from its page: title, filters, legend, what a mark
means, what was left out, the site with the address of the view, the day of the data, and the licence.
*/

import { paint } from "./paint.js";

const LINE = 16;
const EDGE = 14;
const KEY = 14; // from one dot of the legend to its text
const GAP = 18;

// `make(size)` returns the pen; `said` has title, filters and notes, texts, and the lines of the source.
export function drawSheet(make, scene, results, names, colours, said) {
  const { width } = scene.size;
  const room = width - 2 * EDGE;
  const measure = widths();
  const head = [
    ...wrapped(said.title, room, (text) => measure(text, true)).map((text) => ({ text, colour: colours.ink, bold: true })),
    ...wrapped(said.filters, room, measure).map((text) => ({ text, colour: colours.muted })),
  ];
  const legend = scene.dense ? [] : laidOut(scene.colour.legend, room, measure);
  const foot = [
    ...wrapped(said.notes, room, measure).map((text) => ({ text, colour: colours.ink })),
    ...said.source.flatMap((line) => wrapped(line, room, measure)).map((text) => ({ text, colour: colours.muted })),
  ];
  const top = 8 + head.length * LINE + 6;
  const below = top + scene.size.height + 8;
  const rows = legend.length ? legend[legend.length - 1].row + 1 : 0;
  const height = below + rows * LINE + foot.length * LINE + 14;
  const pen = make({ width, height });
  pen.rect(0, 0, width, height, colours.ground);
  head.forEach(({ text, colour, bold }, at) => pen.text(text, EDGE, 8 + LINE * at + 12, colour, "start", bold));
  pen.within(top, () => paint(pen, scene, results, names, colours));
  for (const { text, row, x, colour } of legend) {
    const y = below + row * LINE + 10;
    pen.dot(EDGE + x + 4, y - 4, 4, colours.series[colour], colours.series[colour], "key");
    pen.text(text, EDGE + x + KEY, y, colours.ink, "start");
  }
  foot.forEach(({ text, colour }, at) => pen.text(text, EDGE, below + (rows + at) * LINE + 12, colour, "start"));
  return pen;
}

// Entries of the legend, as many in a row as fit.
function laidOut(entries, room, measure) {
  let [x, row] = [0, 0];
  return entries.map(({ colour, label, count }) => {
    const text = `${label} (${count})`;
    const wide = KEY + measure(text);
    if (x && x + wide > room) [x, row] = [0, row + 1];
    const placed = { text, row, x, colour };
    x += wide + GAP;
    return placed;
  });
}

function widths() {
  const to = document.createElement("canvas").getContext("2d");
  return (text, bold = false) => {
    to.font = bold ? "600 13px system-ui, sans-serif" : "11px system-ui, sans-serif";
    return to.measureText(text).width;
  };
}

// Lines of a text that are no wider than the room, broken between words and, where a word alone is too long, within it.
function wrapped(text, room, measure) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ").filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    if (measure(longer) <= room) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = word;
    while (measure(line) > room) {
      let fits = line.length - 1;
      while (fits > 1 && measure(line.slice(0, fits)) > room) fits -= 1;
      lines.push(line.slice(0, fits));
      line = line.slice(fits);
    }
  }
  return line ? [...lines, line] : lines;
}
