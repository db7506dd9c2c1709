// Exact verification: integers, rational lower bounds of e^x, logarithms rounded up.

import { refuse } from "./document.mjs";

const D = 4294967296n; // probabilities are whole numbers over 2^32
const UNIT = 1n << 320n;
const MAX_LISTED_LEVELS = 200;

/** A double as an exact fraction of BigInts. */
export function fraction(x) {
  let scale = 0n;
  while (!Number.isInteger(x)) {
    x *= 2; // exact
    scale += 1n;
  }
  return [BigInt(x), 1n << scale];
}

/** floor(e^x 2^320) or less: every term of the series is rounded down, the tail left out. */
function expLowerBound(x) {
  const [top, bottom] = fraction(x);
  let term = UNIT;
  let sum = 0n;
  for (let k = 1n; term > 0n; k += 1n) {
    sum += term;
    term = (term * top) / (bottom * k);
  }
  return sum;
}

/** Is above / below <= e^budget, proven? */
function keeps(above, below, x) {
  return above * UNIT <= expLowerBound(x) * below;
}

export function checkRatio(above, below, x) {
  if (!keeps(BigInt(above), BigInt(below), x)) refuse("the parameters do not keep their budgets");
}

/** How much more often an item's own bit is 1, and how much more often another's is 0. */
function ratios(a, b) {
  const one = a.map((top, i) => [BigInt(top), BigInt(b[i])]); // a / b
  const zero = a.map((top, i) => [D - BigInt(b[i]), D - BigInt(top)]); // (D - b) / (D - a)
  return [one, zero];
}

export function checkUnary({ levels, rule, a, b }) {
  const [one, zero] = ratios(a, b);
  const check = (i, j, x) => checkRatio(one[i][0] * zero[j][0], one[i][1] * zero[j][1], x);
  const larger = (list, i, j) => list[i][0] * list[j][1] > list[j][0] * list[i][1];
  if (Array.isArray(rule)) {
    rule.forEach((row, i) => row.forEach((x, j) => x === null || check(i, j, x)));
    return;
  }
  const order = levels.map((_, i) => i).sort((i, j) => levels[j].epsilon - levels[i].epsilon);
  if (rule === "min") {
    // From the largest budget down, every pair is met at its smaller budget.
    let [bestOne, bestZero] = [order[0], order[0]];
    for (const i of order) {
      if (larger(one, i, bestOne)) bestOne = i;
      if (larger(zero, i, bestZero)) bestZero = i;
      check(i, bestZero, levels[i].epsilon);
      check(bestOne, i, levels[i].epsilon);
    }
    return;
  }
  // e^((x + y) / 2) >= lower(x / 2) lower(y / 2): the two worst levels decide all pairs.
  const half = levels.map((level) => expLowerBound(level.epsilon / 2));
  const worst = (list) =>
    list.reduce(
      (best, [top, bottom], i) =>
        top * list[best][1] * half[best] > list[best][0] * bottom * half[i] ? i : best,
      0,
    );
  const [i, j] = [worst(one), worst(zero)];
  if (one[i][0] * zero[j][0] * UNIT * UNIT > half[i] * half[j] * one[i][1] * zero[j][1]) {
    refuse("the parameters do not keep their budgets");
  }
}

export function leastBudget({ levels, rule }) {
  const budgets = Array.isArray(rule)
    ? rule.flat().filter((x) => x !== null)
    : levels.map((level) => level.epsilon);
  return budgets.reduce((least, x) => Math.min(least, x), Infinity);
}

// -- what follows from the integers: doubles, to the last digit ---------------------------

/** The double nearest to top / bottom, both BigInt and not negative, ties to even. */
export function nearest(top, bottom) {
  const length = (x) => x.toString(2).length;
  const shift = BigInt(56 - length(top) + length(bottom));
  const [above, below] = shift > 0n ? [top << shift, bottom] : [top, bottom << -shift];
  const sticky = above % below === 0n ? 0n : 1n;
  return Number((above / below) * 2n + sticky) / 2 ** Number(shift + 1n);
}

/** The next double above x >= 0. */
function nextUp(x) {
  const bits = new BigUint64Array(new Float64Array([x]).buffer);
  bits[0] += 1n;
  return new Float64Array(bits.buffer)[0];
}

const FINE = 1n << 200n; // logarithms are whole numbers over it, right to a few units

/** 2 atanh((x - 1) / (x + 1)) = ln x, for x = top / bottom from 1 to 2. */
function smallLog(top, bottom) {
  const z = ((top - bottom) * FINE) / (top + bottom);
  const square = (z * z) / FINE;
  let sum = 0n;
  for (let k = 1n, power = z; power > 0n; k += 2n) {
    sum += power / k;
    power = (power * square) / FINE;
  }
  return 2n * sum;
}

const LOG_2 = smallLog(2n, 1n);

/** ln(top / bottom) for a ratio of at least 1. */
function log([top, bottom]) {
  let doublings = 0n;
  while (top >= bottom << (doublings + 1n)) doublings += 1n;
  return doublings * LOG_2 + smallLog(top, bottom << doublings);
}

/** A double above a logarithm; rounded to nearest, and then one up. */
const above = (x) => nextUp(x === 0n ? 0 : nearest(x, FINE));

/** The least double that is surely not below ln(top / bottom). */
export const logAbove = (top, bottom) => above(log([BigInt(top), BigInt(bottom)]));

export const unaryPairs = ({ a, b, ...domain }) => listed(...ratios(a, b).map((all) => all.map(log)), domain);

/** Of a mechanism that treats all items alike. */
export function alikePairs(top, bottom, domain) {
  const ones = domain.levels.map(() => log([top, bottom]));
  return listed(ones, domain.levels.map(() => 0n), domain);
}

/** The pair's budget under the rule, null if none is demanded. */
export function demandedBudget({ levels, rule }, i, j) {
  const [x, y] = [levels[i].epsilon, levels[j].epsilon];
  if (rule === "min") return Math.min(x, y);
  return rule === "avg" ? (x + y) / 2 : rule[i][j];
}

/** All pairs of levels; of over 200 levels, the tightest of each. */
function listed(ones, zeros, domain) {
  const { levels } = domain;
  const places = levels.map((_, i) => i);
  const chosen =
    levels.length <= MAX_LISTED_LEVELS
      ? places.flatMap((i) => places.slice(i).map((j) => [i, j]))
      : tightest(ones, zeros, domain);
  return chosen.map(([i, j]) => {
    const [forth, back] = [ones[i] + zeros[j], ones[j] + zeros[i]];
    const realised = above(forth > back ? forth : back);
    return { first: i, second: j, realised, demanded: demandedBudget(domain, i, j) };
  });
}

/** For each level and direction the partner with the least room, as doubles see it. */
function tightest(ones, zeros, { levels, rule }) {
  const [s, w] = [ones, zeros].map((all) => all.map((x) => (x === 0n ? 0 : nearest(x, FINE))));
  const epsilons = levels.map((level) => level.epsilon);
  const first = (count, value) => {
    let best = 0;
    for (let j = 1; j < count; j++) if (value(j) < value(best)) best = j;
    return best;
  };
  const found = new Map();
  const add = (i, j) => found.set(Math.min(i, j) * levels.length + Math.max(i, j), [Math.min(i, j), Math.max(i, j)]);
  for (const [own, partner] of [[s, w], [w, s]]) {
    if (Array.isArray(rule)) {
      rule.forEach((row, i) => add(i, first(row.length, (j) => (row[j] ?? Infinity) - partner[j])));
    } else if (rule === "avg") {
      const best = first(levels.length, (j) => epsilons[j] / 2 - partner[j]);
      epsilons.forEach((_, i) => add(i, best));
    } else {
      const loudest = first(levels.length, (j) => -partner[j]);
      const poorest = first(levels.length, (j) => epsilons[j] - partner[j]);
      epsilons.forEach((epsilon, i) => {
        const near = epsilon - own[i] - partner[loudest];
        add(i, near <= epsilons[poorest] - own[i] - partner[poorest] ? loudest : poorest);
      });
    }
  }
  return [...found.entries()].sort(([x], [y]) => x - y).map(([, pair]) => pair);
}

/** The constants of a linear estimator; offsets and slopes are fractions, one for each level. */
export function linear(offsets, slopes, factor = 1) {
  if (slopes.some(([top]) => top <= 0n)) refuse("the mechanism says nothing at this budget");
  const rounded = (all) => all.map(([top, bottom]) => nearest(top, bottom));
  return { factor, offsets: rounded(offsets), slopes: rounded(slopes) };
}

/** The same for one fraction for all levels: of supporting the own item, and another. */
export function alike([ownTop, ownBottom], [top, bottom], { levels }) {
  const slope = [ownTop * bottom - top * ownBottom, ownBottom * bottom];
  return linear(levels.map(() => [top, bottom]), levels.map(() => slope));
}
