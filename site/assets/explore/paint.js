/*
Drawing a scene with a pen: on a canvas, or into the text of an SVG file. Both draw the same.

Drafts are hollow, disputed points are crossed. Above `MOST_DOTS` points darkness stands for how many there are.
*/

import { tickLabel } from "./scales.js";

const RADIUS = 3.5;
export const MOST_CIRCLES = 2_500;
const FONT = "11px system-ui, sans-serif";
const BOLD = "600 13px system-ui, sans-serif";

export function paint(pen, scene, results, names, colours) {
  const { box, size } = scene;
  pen.rect(0, 0, size.width, size.height, colours.ground);
  if (!scene.count) return;
  const isYear = scene.choice.view !== "frontier" && scene.choice.x === "year";
  for (const tick of spaced(scene.x, 44)) {
    pen.line([[scene.x.at(tick), box.top], [scene.x.at(tick), box.bottom]], colours.grid, 1);
    pen.text(tickLabel(tick, isYear), scene.x.at(tick), box.bottom + 15, colours.muted, "middle");
  }
  for (const tick of spaced(scene.y, 20)) {
    pen.line([[box.left, scene.y.at(tick)], [box.right, scene.y.at(tick)]], colours.grid, 1);
    pen.text(tickLabel(tick), box.left - 6, scene.y.at(tick) + 4, colours.muted, "end");
  }
  pen.line([[box.left, box.top], [box.left, box.bottom], [box.right, box.bottom]], colours.axis, 1);
  pen.text(names.y + (scene.y.log ? ", log" : ""), 4, 16, colours.ink, "start");
  pen.text(names.x + (scene.x.log ? ", log" : ""), box.right, size.height - 8, colours.ink, "end");
  if (scene.dense) pen.raster(scene, colours);
  else dots(pen, scene, results, colours);
}

function spaced(scale, least) {
  const shown = [];
  for (const tick of scale.ticks) {
    if (shown.every((each) => Math.abs(scale.at(each) - scale.at(tick)) >= least)) shown.push(tick);
  }
  return shown;
}

function dots(pen, scene, results, colours) {
  for (const line of scene.lines) {
    const colour = colours.series[scene.colour.of(scene.rows[line[0]])];
    pen.line(line.map((at) => [scene.px[at], scene.py[at]]), colour, 1.5);
  }
  for (let at = 0; at < scene.count; at += 1) {
    const row = scene.rows[at];
    const colour = colours.series[scene.colour.of(row)];
    const hollow = results.isDraft(row);
    pen.dot(scene.px[at], scene.py[at], RADIUS, hollow ? colours.ground : colour, colour, hollow ? "draft" : "");
    if (results.isDisputed(row)) pen.cross(scene.px[at], scene.py[at], RADIUS + 2, colours.red);
  }
}

export class CanvasPen {
  constructor(canvas, { width, height }, ratio, many) {
    this.many = many;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    this.to = canvas.getContext("2d");
    this.to.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // Draws lower down.
  within(down, draw) {
    this.to.save();
    this.to.translate(0, down);
    draw();
    this.to.restore();
  }

  rect(x, y, width, height, fill) {
    this.to.fillStyle = fill;
    this.to.fillRect(x, y, width, height);
  }

  line(points, colour, width) {
    const { to } = this;
    to.beginPath();
    points.forEach(([x, y], at) => (at ? to.lineTo(x, y) : to.moveTo(x, y)));
    to.strokeStyle = colour;
    to.lineWidth = width;
    to.stroke();
  }

  text(text, x, y, fill, anchor, bold = false) {
    this.to.font = bold ? BOLD : FONT;
    this.to.fillStyle = fill;
    this.to.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
    this.to.fillText(text, x, y);
  }

  dot(x, y, radius, fill, stroke) {
    const { to } = this;
    to.fillStyle = fill;
    to.strokeStyle = stroke;
    to.lineWidth = 1.5;
    // Of thousands of points a circle is seen of none, and costs ten times what a square does.
    if (this.many) {
      const [left, top] = [Math.round(x - radius) + 0.5, Math.round(y - radius) + 0.5];
      to.fillRect(left, top, 2 * radius - 1, 2 * radius - 1);
      to.strokeRect(left, top, 2 * radius - 1, 2 * radius - 1);
      return;
    }
    to.beginPath();
    to.arc(x, y, radius, 0, 2 * Math.PI);
    to.fill();
    to.stroke();
  }

  cross(x, y, reach, colour) {
    this.line([[x - reach, y - reach], [x + reach, y + reach]], colour, 1.5);
    this.line([[x - reach, y + reach], [x + reach, y - reach]], colour, 1.5);
  }

  raster(scene, colours) {
    const { width, height } = scene.size;
    this.to.drawImage(density(scene, colours), 0, 0, width, height);
  }
}

// A picture of how many points are where, one cell a pixel, on a logarithm: one point is seen beside a thousand.
function density(scene, colours) {
  const width = Math.ceil(scene.size.width);
  const height = Math.ceil(scene.size.height);
  const counts = new Uint32Array(width * height);
  let most = 1;
  for (let at = 0; at < scene.count; at += 1) {
    const cell = Math.round(scene.py[at]) * width + Math.round(scene.px[at]);
    const count = (counts[cell] += 1);
    if (count > most) most = count;
  }
  const [red, green, blue] = colours.series[1].match(/[\d.]+/g).map(Number);
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const to = canvas.getContext("2d");
  const image = to.createImageData(width, height);
  const scale = 175 / Math.log2(1 + most);
  for (let cell = 0; cell < counts.length; cell += 1) {
    if (!counts[cell]) continue;
    image.data[4 * cell] = red;
    image.data[4 * cell + 1] = green;
    image.data[4 * cell + 2] = blue;
    image.data[4 * cell + 3] = 80 + scale * Math.log2(1 + counts[cell]);
  }
  to.putImageData(image, 0, 0);
  return canvas;
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;" };

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (each) => ESCAPES[each]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

export class SvgPen {
  constructor({ width, height }, title) {
    this.parts = [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11">`,
      `<title>${escaped(title)}</title>`,
    ];
  }

  rect(x, y, width, height, fill) {
    this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${escaped(fill)}"/>`);
  }

  line(points, colour, width) {
    const path = points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(" ");
    this.parts.push(`<polyline points="${path}" fill="none" stroke="${escaped(colour)}" stroke-width="${width}"/>`);
  }

  within(down, draw) {
    this.parts.push(`<g transform="translate(0 ${down})">`);
    draw();
    this.parts.push("</g>");
  }

  text(text, x, y, fill, anchor, bold = false) {
    const face = bold ? ' font-size="13" font-weight="600"' : "";
    this.parts.push(`<text x="${x.toFixed(2)}" y="${y.toFixed(2)}" fill="${escaped(fill)}" text-anchor="${anchor}"${face}>${escaped(text)}</text>`);
  }

  dot(x, y, radius, fill, stroke, mark) {
    const name = mark ? ` class="${mark}"` : "";
    this.parts.push(`<circle${name} cx="${x.toFixed(2)}" cy="${y.toFixed(2)}" r="${radius}" fill="${escaped(fill)}" stroke="${escaped(stroke)}" stroke-width="1.5"/>`);
  }

  cross(x, y, reach, colour) {
    this.parts.push(`<path class="disputed" d="M${(x - reach).toFixed(2)} ${(y - reach).toFixed(2)}l${2 * reach} ${2 * reach}m0 ${-2 * reach}l${-2 * reach} ${2 * reach}" stroke="${escaped(colour)}" stroke-width="1.5"/>`);
  }

  raster(scene, colours) {
    const { width, height } = scene.size;
    this.parts.push(`<image width="${width}" height="${height}" href="${density(scene, colours).toDataURL("image/png")}"/>`);
  }

  done() {
    return `${this.parts.join("\n")}\n</svg>\n`;
  }
}
