// Exact verification: integers, rational lower bounds of e^x.

import { refuse } from "./parameter-file.mjs";
import { demanded, members } from "./question-levels.mjs";

export const D = 4294967296n; // probabilities are whole numbers over 2^32
const UNIT = 1n << 320n;
const NEAR = 1 - 2 ** -40; // of the largest of some ratios of doubles, which are right to 2^-50
export const SCALE = 1n << 80n;

export const sum = (list) => list.reduce((total, x) => total + x, 0);
export const magnitude = (x) => (x < 0n ? -x : x);

/** A double as an exact fraction of BigInts. */
export function fraction(x) {
  let scale = 0n;
  while (!Number.isInteger(x)) {
    x *= 2; // exact
    scale += 1n;
  }
  return [BigInt(x), 1n << scale];
}

/** floor(top scale / bottom), for a positive bottom. */
export function floorScaled([top, bottom], scale = SCALE) {
  const whole = top * scale;
  return (whole - (((whole % bottom) + bottom) % bottom)) / bottom;
}

const bounds = new Map();

/** floor(e^x 2^320) or less: every term of the series is rounded down, the tail left out. */
function expLowerBound(x) {
  if (bounds.has(x)) return bounds.get(x);
  const [top, bottom] = fraction(x);
  let [term, total] = [UNIT, 0n];
  for (let k = 1n; term > 0n; k += 1n) {
    total += term;
    term = (term * top) / (bottom * k);
  }
  bounds.set(x, total);
  return total;
}

/** Prove that a ratio, null if it is endless, is at most e^budget. */
export function checkRatio(ratio, budget) {
  if (budget === Infinity) return;
  const kept = ratio !== null && BigInt(ratio[0]) * UNIT <= expLowerBound(budget) * BigInt(ratio[1]);
  if (!kept) refuse("the parameters do not keep their budgets");
}

const larger = ([a, b], [c, d]) => a * d > c * b; // of two fractions
const quotient = ([a, b]) => Number(a) / Number(b);

/** Smallest and largest likelihood of a level's elements in every report, with doubles beside. */
export function likelihoods(ends) {
  const least = ends.map(([low]) => low);
  const most = ends.map(([, high]) => high);
  const zeros = least.flatMap(([top], o) => (top ? [] : [o]));
  const low = Float64Array.from(least, (x) => quotient(x) || Infinity);
  return { least, most, zeros, low, high: Float64Array.from(most, quotient) };
}

/** Largest ratio of an element of the first to one of the second in one report; null if it is
 * endless. Doubles find the few reports that may have it, exact numbers decide. */
export function worstRatio({ high, most }, { low, least, zeros }) {
  if (zeros.some((o) => most[o][0])) return null;
  let nearly = 0;
  for (let o = 0; o < high.length; o++) nearly = Math.max(nearly, (high[o] / low[o]) * NEAR);
  let worst = [1n, 1n];
  for (let o = 0; o < high.length; o++) {
    if (high[o] / low[o] < nearly) continue;
    const ratio = [most[o][0] * least[o][1], most[o][1] * least[o][0]];
    if (larger(ratio, worst)) worst = ratio;
  }
  return worst;
}

/** Bits with these probabilities keep every pair's budget; dummies have those of the least one. */
export function checkUnary(levels, a, b) {
  const all = members(levels);
  const own = (column) => (levels.dummies ? [...column, column[levels.dummyLevel]] : column).map(BigInt);
  const [tops, bottoms] = [own(a), own(b)];
  const one = tops.map((top, i) => [top, bottoms[i]]); // a / b
  const zero = tops.map((top, i) => [D - bottoms[i], D - top]); // (D - b) / (D - a)
  const check = (i, j, x) => checkRatio([one[i][0] * zero[j][0], one[i][1] * zero[j][1]], x);
  const places = all.map((_, i) => i);
  if (Array.isArray(levels.rule)) {
    for (const i of places) for (const j of places) check(i, j, demanded(levels, i, j));
    return;
  }
  const two = (list) => [...places].sort((i, j) => (larger(list[i], list[j]) ? -1 : 1)).slice(0, 2);
  if (levels.rule !== "avg") {
    // r = min(eps_i, against_j): each level at its own budgets beside the largest of the others.
    const [bestOnes, bestZeros] = [two(one), two(zero)];
    all.forEach(({ count, epsilon, against }, i) => {
      for (const j of bestZeros) if (j !== i || count > 1) check(i, j, epsilon);
      for (const j of bestOnes) if (j !== i || count > 1) check(j, i, against);
    });
    return;
  }
  // e^((x + y) / 2) >= lower(x / 2) lower(y / 2): a product decides, and its two largest factors.
  const half = all.map(({ epsilon }) => expLowerBound(epsilon / 2));
  const steepest = (list) => two(list.map(([top, bottom], i) => [top, bottom * half[i]]));
  const pairs = places.filter((i) => all[i].count > 1).map((i) => [i, i]);
  for (const i of steepest(one)) for (const j of steepest(zero)) if (i !== j) pairs.push([i, j]);
  for (const [i, j] of pairs) {
    const kept = one[i][0] * zero[j][0] * UNIT * UNIT <= half[i] * half[j] * one[i][1] * zero[j][1];
    if (!kept) refuse("the parameters do not keep their budgets");
  }
}
