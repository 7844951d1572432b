/* Axes: from numbers to places, and the round numbers that are written beside them. */

import { grouped } from "./columns.js";

const LOG_FROM = 30; // an axis that spans more than this many times its smallest number starts as a logarithm
const SUFFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];

export function extent(numbers) {
  let least = Infinity;
  let most = -Infinity;
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
  }
  return [least, most];
}

export function wantsLog([least, most]) {
  return least > 0 && most / least > LOG_FROM;
}

export function makeScale([least, most], log, from, to) {
  if (log && least > 0) {
    let [low, high] = [Math.log10(least), Math.log10(most)];
    const room = Math.max((high - low) * 0.04, 0.02);
    low -= room;
    high += room;
    const at = (number) => from + ((Math.log10(number) - low) / (high - low)) * (to - from);
    return { at, log: true, ticks: logTicks(low, high) };
  }
  const range = most - least || Math.abs(most) || 1;
  const low = least >= 0 && least <= range ? 0 : least - range * 0.04;
  const high = most + range * 0.04;
  const at = (number) => from + ((number - low) / (high - low)) * (to - from);
  return { at, log: false, ticks: linearTicks(low, high) };
}

function logTicks(low, high) {
  const decades = high - low;
  const steps = decades < 1 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : decades < 2.5 ? [1, 2, 5] : [1];
  const every = decades > 8 ? 2 : 1;
  const ticks = [];
  for (let power = Math.floor(low); power <= high; power += every) {
    for (const step of steps) {
      const number = Number(`${step}e${power}`);
      const log = Math.log10(number);
      if (log >= low && log <= high) ticks.push(number);
    }
  }
  return ticks;
}

function linearTicks(low, high) {
  const rough = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

export function tickLabel(number, plain = false) {
  if (plain) return String(number);
  for (const [size, suffix] of SUFFIXES) if (Math.abs(number) >= size) return `${Number((number / size).toPrecision(4))}${suffix}`;
  return grouped(String(Number(number.toPrecision(6))));
}
