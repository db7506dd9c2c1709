// The levels of a question, and which answers are theirs.

import { refuse } from "./document.mjs";

export function readLevels({ levels, rule }, least) {
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
  return { levels, numbers, named, total, rule };
}

function checkMatrix(rows, size) {
  if (rows.length !== size || rows.some((row) => row.length !== size)) {
    refuse("the rule does not fit the levels");
  }
  if (rows.some((row) => row.every((x) => x === null))) refuse("a level is protected against nothing");
  if (rows.some((row, i) => row.some((x, j) => x !== rows[j][i]))) refuse("the rule is not symmetric");
}

export function itemNumber(domain, answer) {
  if (typeof answer === "string" && domain.numbers.has(answer)) return domain.numbers.get(answer);
  const plain = Number.isInteger(answer) && answer >= 0 && answer < domain.total;
  if (!domain.named && plain) return answer;
  return refuse("the answer is none of the question's items");
}

/** The numbers of a list of different items, in ascending order. */
export function itemNumbers(domain, answer) {
  if (!Array.isArray(answer)) refuse("the answer is not a list of items");
  const items = answer.map((item) => itemNumber(domain, item)).sort((x, y) => x - y);
  if (new Set(items).size < items.length) refuse("the answer has repeats");
  return items;
}
