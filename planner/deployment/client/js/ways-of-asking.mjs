// Ways of asking: which answers there are, and what each report is about. Each gives
// { levels, wanted, code, own }: "code" checks an answer and draws nothing; "own" makes of it the
// number that the report is about, in as many random words for every answer; "wanted" is what each
// number counts as, a list of exact fractions for each wanted one, where reports are rows. For the
// person: "about" has elements, and with what chance an answer's report is about each; "most" is
// the largest budget for this answer against a protected one, and against it if that differs.

import { refuse } from "./parameter-file.mjs";
import { GRID, choose, order, words } from "./exact-draws.mjs";
import { fraction } from "./exact-checks.mjs";
import { mostOf, readLevels, unnamed } from "./question-levels.mjs";

const MAX_ANSWERS = 257;

function itemNumber({ numbers, names, named, total }, answer) {
  const found = typeof answer === "string" ? (numbers.get(answer) ?? unnamed(names, answer)) : undefined;
  if (found !== undefined) return found;
  if (!named && Number.isInteger(answer) && answer >= 0 && answer < total) return answer;
  return refuse("the answer is none of the question's items");
}

function item(question, least = 1) {
  const levels = readLevels(question, least);
  const [code, own] = [(answer) => itemNumber(levels, answer), (number) => number];
  return { levels, code, own, about: (number) => [[[number, 1]]], most: (number) => mostOf(levels, number) };
}

function itemOrNone(question) {
  const { levels, own, about } = item(question);
  const none = (answer) => answer === null && !question.everyone_has_value;
  const most = () => Math.max(question.none_epsilon ?? 0, ...levels.rows.map(({ epsilon }) => epsilon));
  return { levels, own, about, most, code: (answer) => (none(answer) ? 0 : 1 + itemNumber(levels, answer)) };
}

function ordered(question) {
  const { order, scores, wanted, lower, upper } = question;
  const asked = item(question, 2);
  const size = asked.levels.total;
  const sorted = [...order].sort((a, b) => a - b);
  if (size > MAX_ANSWERS || order.length !== size || sorted.some((k, i) => k !== i)) {
    refuse("the order does not have every item once");
  }
  if (scores.length && scores.length !== size) refuse("scores do not fit the items");
  const ofMean = wanted === "mean of scores";
  if (ofMean && !scores.length) refuse("a mean has no scores");
  if (question.no_answer && (ofMean || size < 3)) refuse("an answer outside the order does not fit");
  const rank = order.map((_, k) => order.indexOf(k));
  const upTo = (answer) => rank.map((place) => [place <= answer ? 1n : 0n, 1n]);
  const shares = () => Array.from({ length: size - 1 }, (_, answer) => upTo(answer));
  const made = { ...asked, wanted: ofMean ? [rank.map((place) => fraction(scores[place]))] : shares() };
  if (lower === undefined && upper === undefined) return made;
  const width = upper - lower; // not a number where one of the two is left out
  if (!(width > 0) || !Number.isFinite(width)) refuse("the range is empty or endless");
  return { ...made, code: (answer) => cellOf(question, answer) };
}

/** The item that is the cell of a number: put there before anything is drawn. */
function cellOf({ order, lower, upper, no_answer: outside }, answer) {
  const cells = order.length - (outside ? 1 : 0);
  if (outside && (answer === null || Number.isNaN(answer))) return order[cells];
  const within = typeof answer === "number" && answer >= lower && answer <= upper;
  if (!within) refuse("the answer is outside the question's range");
  const share = ((answer - lower) / (upper - lower)) * cells;
  return order[Math.min(Math.floor(share), cells - 1)];
}

function number({ epsilon, lower, upper, yes_no: yesNo, points }) {
  if (!(lower < upper) || !Number.isFinite(upper - lower)) refuse("the range is empty or endless");
  if (yesNo && points !== 2) refuse("a question of yes and no has two points");
  const last = points - 1;
  const grid = Array.from({ length: points }, (_, k) => [BigInt(2 * k - last), BigInt(last)]);
  const place = (answer) => {
    const share = ((answer - lower) / (upper - lower)) * last;
    return [share, Math.min(Math.floor(share), last - 1)];
  };
  const everybody = { name: "any answer or none", epsilon, item_count: points + 1, items: [] };
  return {
    levels: readLevels({ levels: [everybody], rule: "min" }),
    wanted: [[...grid, [0n, 1n]], [...grid.map(() => [1n, 1n]), [0n, 1n]]],
    code: (answer) => {
      if (answer === null || Number.isNaN(answer)) return null;
      const within = typeof answer === "number" && answer >= lower && answer <= upper;
      if (!within) refuse("the answer is outside the question's range");
      if (yesNo && answer !== lower && answer !== upper) refuse("the answer is neither yes nor no");
      return answer;
    },
    most: () => epsilon,
    about: (answer) => {
      if (answer === null) return [[[points, 1]]];
      const [share, below] = place(answer);
      return [[[below, 1 - (share - below)], [below + 1, share - below]]];
    },
    own: (answer, source) => {
      const [word] = words(source, 1);
      if (answer === null) return points;
      const [share, below] = place(answer);
      return below + (word < Math.floor((share - below) * GRID + 0.5));
    },
  };
}

function oneOfSet(question) {
  const { padding_length: length, longer_sets: longer } = question;
  let [before, above] = [length, 1];
  for (const { size, share } of longer ?? []) {
    if (size <= before || share > above) refuse("longer sets are out of order");
    [before, above] = [size, share];
  }
  const levels = readLevels(question, 1, length);
  const largest = largestSet(question);
  return {
    levels,
    most: () => Math.max(...levels.rows.map(({ epsilon }) => epsilon)),
    about: (items) => aboutSet(items, 1, length),
    code: (answer) => {
      if (!Array.isArray(answer)) refuse("the answer is not a list of items");
      const items = answer.map((one) => itemNumber(levels, one)).sort((x, y) => x - y);
      if (new Set(items).size < items.length) refuse("the answer has repeats");
      if (items.length > largest) refuse("the answer has more items than the sizes of sets allow");
      return items;
    },
    own: (items, source) => {
      const slot = choose(source, Math.max(items.length, length));
      const dummy = length > 1 ? choose(source, length) : 0; // always drawn: the number of words is public
      return slot < items.length ? items[slot] : levels.total + dummy;
    },
  };
}

/** Items that a set may have: estimates rest on the sizes that are stated. */
export function largestSet({ padding_length: length, longer_sets: longer }) {
  if (longer === null) return Infinity;
  return longer.at(-1)?.size ?? length;
}

/** Of the first answers of a set, or of one that it has not: so many slots are reported of all. */
function aboutSet(items, slots, length) {
  const share = slots / Math.max(items.length, length);
  return (items.length ? items.slice(0, 3) : [0]).map((k) => [[k, share]]);
}

function wholeSet(question) {
  const { padding_length: length } = question;
  const asked = oneOfSet(question);
  const { total, elements } = asked.levels;
  return {
    ...asked,
    about: (items) => aboutSet(items, length, length),
    own: (items, source) => {
      const places = order(source, Math.max(items.length, length), length);
      if (items.length > length) return places.map((place) => items[place]);
      const dummies = Array.from({ length: elements - items.length - total }, (_, k) => total + k);
      return [...items, ...dummies];
    },
  };
}

const SETS = { "one-of-set": oneOfSet, "whole-set": wholeSet };
export const ASKED = new Map(Object.entries({ item, "item-or-none": itemOrNone, ordered, number, ...SETS }));
