// The levels of a question: which answers they hold, and what is demanded of every pair.

import { refuse } from "./document.mjs";

export function readLevels({ levels, rule }, least = 1, dummies = 0) {
  const names = new Set();
  const numbers = new Map();
  let total = 0;
  let named = true;
  for (const { name, items, item_count: count } of levels) {
    if (names.has(name)) refuse("two levels have one name");
    names.add(name);
    if (items.length && items.length !== count) refuse("items do not fit item_count");
    items.forEach((item, k) => {
      if (numbers.has(item)) refuse("two items have one name");
      numbers.set(item, total + k);
    });
    named &&= items.length > 0;
    total += count;
  }
  if (total < least) refuse("there are too few items");
  if (Array.isArray(rule)) checkMatrix(rule, levels.length);
  const rows = levels.map(({ item_count: count, epsilon }) => ({ count, epsilon }));
  return { rows, rule, numbers, named, total, dummies, elements: total + dummies, dummyLevel: leastOf(rows) };
}

function checkMatrix(rows, size) {
  if (rows.length !== size || rows.some((row) => row.length !== size)) {
    refuse("the rule does not fit the levels");
  }
  if (rows.some((row) => row.every((x) => x === null))) refuse("a level is protected against nothing");
  if (rows.some((row, i) => row.some((x, j) => x !== rows[j][i]))) refuse("the rule is not symmetric");
}

/** The first level of the least budget. */
const leastOf = (rows) => rows.reduce((best, x, i) => (x.epsilon < rows[best].epsilon ? i : best), 0);

/** Elements and budget of each level, then of the dummies if there are any. */
export function members({ rows, dummies, dummyLevel }) {
  return dummies ? [...rows, { count: dummies, epsilon: rows[dummyLevel].epsilon }] : rows;
}

export const ofBoth = (rule, x, y) => (rule === "min" ? Math.min(x, y) : (x + y) / 2);

/** Budget of two elements of the levels, Infinity for none: a lone one has no other. */
export function demanded({ rows, rule }, i, j) {
  if (i === j && rows[i].count === 1) return Infinity;
  return Array.isArray(rule) ? (rule[i][j] ?? Infinity) : ofBoth(rule, rows[i].epsilon, rows[j].epsilon);
}

/** The largest budget of an element and another; of those alone that have one. */
export function mostOf(levels, element) {
  const i = levels.rows.findIndex(({ count }) => (element -= count) < 0);
  const budgets = levels.rows.map((_, j) => demanded(levels, i, j));
  return Math.max(0, ...budgets.filter((budget) => budget !== Infinity));
}

/** The smallest budget of any pair of elements. */
export function leastDemanded(levels) {
  let least = Infinity;
  const add = (budget) => (least = Math.min(least, budget));
  if (Array.isArray(levels.rule)) {
    levels.rows.forEach((_, i) => levels.rows.forEach((_, j) => add(demanded(levels, i, j))));
    return least;
  }
  const sorted = [...members(levels)].sort((x, y) => x.epsilon - y.epsilon);
  for (const { count, epsilon } of sorted) if (count > 1) add(epsilon);
  if (sorted.length > 1) add(ofBoth(levels.rule, sorted[0].epsilon, sorted[1].epsilon));
  return least;
}
