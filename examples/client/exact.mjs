// Exact verification: integers, and rational lower bounds of e^x.

import { refuse } from "./document.mjs";

const D = 4294967296n; // probabilities are whole numbers over 2^32
const UNIT = 1n << 320n;

/** A double as an exact fraction of BigInts. */
function fraction(x) {
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

export function checkUnary({ levels, rule, a, b }) {
  const [one, zero] = [[], []];
  for (let i = 0; i < a.length; i++) {
    one.push([BigInt(a[i]), BigInt(b[i])]); // a / b
    zero.push([D - BigInt(b[i]), D - BigInt(a[i])]); // (D - b) / (D - a)
  }
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
