// The levels of a question, and which answers are theirs.

import { budget, list, refuse, whole } from "./document.mjs";

export function readLevels(question, least) {
  const levels = list(question, "levels");
  const names = new Set();
  const numbers = new Map();
  let total = 0;
  let named = true;
  for (const level of levels) {
    if (typeof level?.name !== "string" || !level.name || names.has(level.name)) {
      refuse("a level's name is not right");
    }
    names.add(level.name);
    budget(level, "epsilon");
    whole(level, "item_count", 1, 1e12);
    const items = list(level, "items", 0);
    if (items.length && items.length !== level.item_count) refuse("items do not fit item_count");
    items.forEach((item, k) => {
      if (typeof item !== "string" || !item || numbers.has(item)) refuse("an item is not right");
      numbers.set(item, total + k);
    });
    named &&= items.length > 0;
    total += level.item_count;
  }
  if (total < least) refuse("there are too few items");
  const rule = question.rule;
  if (rule !== "min" && rule !== "avg") {
    const rows = list(question, "rule");
    const size = levels.length;
    if (rows.length !== size || rows.some((row) => !Array.isArray(row) || row.length !== size)) {
      refuse("the rule does not fit the levels");
    }
    for (let i = 0; i < size; i++) {
      if (rows[i].every((x) => x === null)) refuse("a level is protected against nothing");
      for (let j = 0; j < size; j++) {
        const x = rows[i][j];
        if (x !== null && !(typeof x === "number" && x > 0 && x <= 50)) refuse("a pair budget");
        if (x !== rows[j][i]) refuse("the rule is not symmetric");
      }
    }
  }
  return { levels, numbers, named, total, rule };
}

export function itemNumber(domain, answer) {
  if (typeof answer === "string" && domain.numbers.has(answer)) return domain.numbers.get(answer);
  const plain = Number.isInteger(answer) && answer >= 0 && answer < domain.total;
  if (!domain.named && plain) return answer;
  return refuse("the answer is none of the question's items");
}
