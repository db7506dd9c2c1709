// The levels of a question: which answers they hold, and what is demanded of every pair.

import { refuse } from "./parameter-file.mjs";

export function readLevels({ levels, rule }, least = 1, dummies = 0) {
  const [names, numbers] = [new Map(), new Map()];
  let [total, named] = [0, true];
  for (const { name, items, item_count: count } of levels) {
    if (names.has(name)) refuse("two levels have one name");
    names.set(name, items.length ? [total, 0] : [total, count]);
    if (items.length && items.length !== count) refuse("items do not fit item_count");
    items.forEach((item, k) => {
      if (numbers.has(item)) refuse("two items have one name");
      numbers.set(item, total + k);
    });
    named &&= items.length > 0;
    total += count;
  }
  if (total < least) refuse("there are too few items");
  for (const item of numbers.keys()) if (unnamed(names, item) !== undefined) refuse("two items have one name");
  if (Array.isArray(rule)) checkMatrix(rule, levels.length);
  const oneSided = rule === "one-sided";
  if (!oneSided && levels.some(({ against }) => against !== undefined)) refuse("against has no meaning here");
  const speaks = ({ epsilon, against = Infinity }) => (oneSided ? against : epsilon);
  const rows = levels.map((one) => ({ count: one.item_count, epsilon: one.epsilon, against: speaks(one) }));
  return { rows, rule, numbers, names, named, total, dummies, elements: total + dummies, dummyLevel: leastOf(rows) };
}

/** The number of an item without a name that is called "level 57"; undefined if there is none. */
export function unnamed(names, answer) {
  const [, name, number] = /^(.*) ([1-9][0-9]{0,11})$/s.exec(answer) ?? [];
  const [start, count] = names.get(name) ?? [0, 0];
  return Number(number) <= count ? start + Number(number) - 1 : undefined;
}

function checkMatrix(rows, size) {
  if (rows.length !== size || rows.some((row) => row.length !== size)) {
    refuse("the rule does not fit the levels");
  }
  if (rows.some((row, i) => row.some((x, j) => (x === null) !== (rows[j][i] === null)))) refuse("half a pair is open");
  if (rows.some((row) => row.every((x) => x === null))) refuse("a level is protected against nothing");
}

/** The first level of the least budget. */
const leastOf = (rows) => rows.reduce((best, x, i) => (x.epsilon < rows[best].epsilon ? i : best), 0);

/** Elements and budgets of each level, then of the dummies if there are any. */
export function members({ rows, dummies, dummyLevel }) {
  const { epsilon } = rows[dummyLevel];
  return dummies ? [...rows, { count: dummies, epsilon, against: epsilon }] : rows;
}

/** How much likelier a report may be for one of the first than for one of the second. */
export const ofBoth = (rule, x, y) => (rule === "avg" ? (x.epsilon + y.epsilon) / 2 : Math.min(x.epsilon, y.against));

/** Budget of two elements of the levels, Infinity for none: a lone one has no other. */
export function demanded({ rows, rule }, i, j) {
  if (i === j && rows[i].count === 1) return Infinity;
  return Array.isArray(rule) ? (rule[i][j] ?? Infinity) : ofBoth(rule, rows[i], rows[j]);
}

/** The largest budgets for an element and against it, of those pairs that have one. */
export function mostOf(levels, element) {
  const i = levels.rows.findIndex(({ count }) => (element -= count) < 0);
  const largest = (budgets) => Math.max(0, ...budgets.filter((budget) => budget !== Infinity));
  return [[i, null], [null, i]].map(([a, b]) => largest(levels.rows.map((_, j) => demanded(levels, a ?? j, b ?? j))));
}

/** The smallest budget of any pair of elements. */
export function leastDemanded(levels) {
  let least = Infinity;
  const add = (budget) => (least = Math.min(least, budget));
  if (Array.isArray(levels.rule)) {
    levels.rows.forEach((_, i) => levels.rows.forEach((_, j) => add(demanded(levels, i, j))));
    return least;
  }
  const two = members(levels).flatMap((one) => (one.count > 1 ? [one, one] : [one]));
  two.sort((x, y) => x.epsilon - y.epsilon);
  if (two.length < 2) return least;
  add(levels.rule === "avg" ? ofBoth("avg", two[0], two[1]) : two[0].epsilon);
  if (levels.rule === "one-sided") levels.rows.forEach(({ against }) => add(against));
  return least;
}
