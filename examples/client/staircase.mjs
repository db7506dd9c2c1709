// Set designs: a set of elements, likelier the more it has of one's own. The order of random words
// is that of planner/laws/staircase.py.

import { refuse } from "./document.mjs";
import { below, octets, order, setBit, words } from "./draws.mjs";
import { checkRatio } from "./exact.mjs";
import { leastDemanded } from "./levels.mjs";

export function staircase({ held, cap, steps, weights }, { levels }) {
  const { elements, dummies: length } = levels;
  if (held >= elements) refuse("a report has too many elements");
  if (steps.length < 2 || steps.length !== weights.length) refuse("the steps do not fit the weights");
  const rising = steps.every((hits, c) => (c ? hits > steps[c - 1] : hits === 0));
  if (!rising || steps.at(-1) > Math.min(length, held)) refuse("the steps do not rise as they should");
  if (weights.reduce((sum, w) => sum + w, 0) !== 2 ** 32) refuse("the weights do not sum to 2^32");
  const ways = reportsByHits(BigInt(elements), BigInt(length), BigInt(held));
  const within = steps.map((first, c) => sums(ways.slice(first, steps[c + 1] ?? length + 1)));
  const counts = within.map((ends) => ends.at(-1));
  if (counts.some((count) => count === 0n)) refuse("a step has no report");
  const least = leastDemanded(levels);
  if (cap < least) refuse("the cap is below the smallest budget");
  weights.forEach((w, c) => {
    weights.forEach((other, d) => {
      const ratio = [BigInt(w) * counts[d], BigInt(other) * counts[c]];
      checkRatio(ratio, Math.abs(c - d) === 1 ? Math.min(least, cap) : cap);
    });
  });
  requireHigher(ways, within, weights, steps, BigInt(elements), BigInt(length), BigInt(held));
  const ends = weights.map(((sum) => (w) => (sum += w))(0));
  const width = reportWidth(elements, held);
  return {
    cells: elements,
    size: width ? held * width : octets(elements),
    draw: (own, source) => {
      const [word] = words(source, 1);
      const numbers = counts.map((count) => below(source, count));
      const step = ends.findIndex((end) => word < end);
      const hits = steps[step] + within[step].findIndex((end) => numbers[step] < end);
      const mine = [...own].sort((x, y) => x - y);
      const first = order(source, length, Math.min(held, length));
      const rest = order(source, elements - length, Math.min(held, elements - length));
      const chosen = first.slice(0, hits).map((place) => mine[place]);
      for (const place of rest.slice(0, held - hits)) {
        chosen.push(mine.reduce((element, one) => element + (one <= element), place));
      }
      return written(chosen.sort((x, y) => x - y), elements, width);
    },
  };
}

/** Reports by own elements, up to a factor: they add up to falling powers. */
function reportsByHits(elements, length, held) {
  const falling = (from, count) => {
    let product = 1n;
    for (let k = 0n; k < count; k += 1n) product *= from > k ? from - k : 0n;
    return product;
  };
  const found = [];
  for (let j = 0n; j <= length; j += 1n) {
    const choices = falling(length, j) / falling(j, j);
    found.push(choices * falling(held, j) * falling(elements - held, length - j));
  }
  return found;
}

const sums = (list) => list.map(((sum) => (x) => (sum += x))(0n));

/** An own element is reported more often than another. */
function requireHigher(ways, within, weights, steps, elements, length, held) {
  let [top, bottom] = [0n, 1n]; // expected own elements in a report, times 2^32
  within.forEach((ends, c) => {
    let hits = 0n;
    ends.forEach((_, k) => (hits += BigInt(steps[c] + k) * ways[steps[c] + k]));
    const count = ends.at(-1);
    [top, bottom] = [top * count + BigInt(weights[c]) * hits * bottom, bottom * count];
  });
  const all = held * bottom * 2n ** 32n;
  if (top * (elements - length) <= (all - top) * length) refuse("a report says too little");
}

function reportWidth(elements, held) {
  const width = elements <= 2 ** 16 ? 2 : 4;
  return held * width < octets(elements) ? width : 0;
}

function written(chosen, elements, width) {
  const report = Buffer.alloc(width ? width * chosen.length : octets(elements));
  chosen.forEach((element, k) => {
    if (width) report.writeUIntLE(element, width * k, width);
    else setBit(report, element);
  });
  return report;
}
