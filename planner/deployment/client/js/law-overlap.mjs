// Set designs: a set of elements, likelier the more it has of one's own. The order of random words
// is that of planner/laws/overlap.py.

import { refuse } from "./parameter-file.mjs";
import { below, GRID, hasBit, octets, order, setBit, uint32 } from "./exact-draws.mjs";
import { D, checkRatio } from "./exact-checks.mjs";
import { leastDemanded } from "./question-levels.mjs";

const MAX_WHOLE_SET = 1024; // the weights of hits would fill the memory

export function overlap({ held, cap, ratios }, { levels }) {
  const { elements, dummies: length } = levels;
  if (length > MAX_WHOLE_SET) refuse("a report about the whole set has too many dummies");
  if (held >= elements) refuse("a report has too many elements");
  const fewest = Math.max(0, held - (elements - length)); // own elements in a report
  const most = Math.min(length, held);
  if (ratios.length !== most - fewest) refuse("there is not one ratio for each number of own elements");
  const least = leastDemanded(levels);
  if (cap < least) refuse("the cap is below the smallest budget");
  checkRatio([GRID, ratios.reduce((x, y) => Math.min(x, y))], least);
  checkRatio([D ** BigInt(ratios.length), product(ratios)], cap);
  // More own elements are likelier, unless all reports are alike (planner/laws/overlap.py).
  if (ratios.every((ratio) => ratio === GRID)) refuse("a report says too little");
  const weights = () => weightsUpTo(fewest, ratios, held, length, elements - length);
  const width = reportWidth(elements, held);
  return {
    cap,
    says: (k, report) => {
      const hits = ownOf(weights(), most);
      const [own, other] = [hits / length, (held - hits) / (elements - length)];
      return { marked: elementsOf(report, width).includes(k), own, others: [other] };
    },
    cells: elements,
    size: width ? held * width : octets(elements),
    draw: (own, source) => {
      const ends = weights();
      const number = below(source, ends.at(-1));
      const hits = fewest + ends.findIndex((end) => number < end);
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

const product = (numbers) => numbers.reduce((all, one) => all * BigInt(one), 1n);

function choices(from, count) {
  let found = 1n;
  for (let k = 0; k < count; k++) found = (found * BigInt(from - k)) / BigInt(k + 1);
  return found;
}

/** Weights of reports with so many own elements or fewer, from the fewest on; no division leaves a
 * remainder. */
function weightsUpTo(fewest, ratios, held, length, others) {
  const reports = choices(held, fewest) * choices(length + others - held, length - fewest);
  let weight = reports * product(ratios);
  const ends = [weight];
  ratios.forEach((ratio, c) => {
    const j = fewest + c;
    const more = BigInt(held - j) * BigInt(length - j) * D;
    weight = (weight * more) / (BigInt(j + 1) * BigInt(others - held + j + 1) * BigInt(ratio));
    ends.push(ends.at(-1) + weight);
  });
  return ends;
}

/** How many own elements a report has on average. */
function ownOf(ends, most) {
  const below = ends.slice(0, -1).reduce((sum, end) => sum + end, 0n);
  return most - Number((below << 53n) / ends.at(-1)) / 2 ** 53;
}

function reportWidth(elements, held) {
  const width = elements <= 2 ** 16 ? 2 : 4;
  return held * width < octets(elements) ? width : 0;
}

function elementsOf(report, width) {
  if (!width) return [...Array(8 * report.length).keys()].filter((k) => hasBit(report, k));
  const at = (k) => report.subarray(width * k, width * (k + 1)).reduceRight((high, low) => 256 * high + low, 0);
  return Array.from({ length: report.length / width }, (_, k) => at(k));
}

function written(chosen, elements, width) {
  const report = new Uint8Array(width ? width * chosen.length : octets(elements));
  chosen.forEach((element, k) => {
    if (width) report.set(uint32(element).subarray(0, width), width * k);
    else setBit(report, element);
  });
  return report;
}
