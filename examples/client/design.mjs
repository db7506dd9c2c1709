// Subset designs: a report says a type and, for every item, on which of two sides it stands.
// The order of random words is that of planner/deployment/client/mechanisms/design.py.

import { MAX_CELLS, refuse } from "./document.mjs";
import { GRID, choose, chooseAll, words } from "./draws.mjs";
import { checkRatio, demandedBudget, fraction, logAbove } from "./exact.mjs";
import { itemNumber, itemNumbers, readLevels } from "./levels.mjs";
import { checkLonger } from "./sets.mjs";

const D = BigInt(GRID);
const SCALE = 1n << 80n;
const BIAS = 1000000000n; // a person may shift an estimate by one part in so many of a person
const [MAX_GROUPS, MAX_TYPES, MAX_LISTED_LEVELS] = [64, 4096, 200];
const TYPE_BYTES = 8;

const range = (count) => Array.from({ length: count }, (_, k) => k);
const pairsOf = (values) => values.flatMap((a, i) => values.slice(i).map((b) => [a, b]));
const larger = ([a, b], [c, d]) => a * d > c * b; // of two fractions

export function design(question) {
  const law = read(question);
  checkIntegers(law);
  checkEstimator(law, question.estimator.values);
  const common = {
    pairs: listed(law),
    estimator: question.estimator,
    cells: law.cells,
    size: TYPE_BYTES + 8 * Math.ceil(law.bits / 64),
  };
  if (!law.length) {
    return {
      ...common,
      code: (answer) => itemNumber(law, answer),
      draw: (item, source) => draw(law, placeOf(law, item), source),
    };
  }
  return {
    ...common,
    code: (answer) => itemNumbers(law, answer),
    draw: (items, source) => {
      const slot = choose(source, Math.max(items.length, law.length));
      return draw(law, slot < items.length ? placeOf(law, items[slot]) : dummyOf(law), source);
    },
  };
}

function read({ levels, rule, types, groups, estimator: { values }, padding_length, dummy_group, longer_sets }) {
  const length = padding_length ?? 0; // of item sets, with one dummy item of the least budget
  checkLonger(length, longer_sets ?? []);
  const domain = readLevels({ levels, rule }, length ? 1 : 2);
  const own = levels.map((level) => level.group);
  const [size, kinds] = [groups.length, types.length];
  // Group, items and budget of each level, and of the dummy.
  const members = levels.map(({ group, item_count, epsilon }) => ({ group, count: item_count, epsilon }));
  if (length) members.push({ group: dummy_group, count: 1, epsilon: Math.min(...members.map((one) => one.epsilon)) });
  const named = members.map((one) => one.group);
  if (new Set(named).size !== size || named.some((group) => group >= size)) refuse("groups do not fit the levels");
  if (size > MAX_GROUPS || kinds > MAX_TYPES) refuse("there are too many types or groups");
  const shaped = (rows, [count, ...rest]) =>
    rows.length === count && (!rest.length || rows.every((row) => shaped(row, rest)));
  const right = shaped(types, [kinds, size]) && shaped(groups, [size, kinds, 2]) && shaped(values, [kinds, size, 2]);
  if (!right) refuse("types, groups and estimator do not fit");
  const items = Array(size).fill(0);
  members.forEach(({ group, count }) => (items[group] += count));
  if (types.some((row) => row.some((high, g) => high > items[g]))) refuse("more items are high than there are");
  const bits = items.reduce((sum, x) => sum + x, 0);
  const cells = kinds * (1 + bits);
  if (cells > MAX_CELLS) refuse("there are too many items");
  return { ...domain, length, members, dummy: dummy_group, bits, cells, own, types, groups, items };
}

const sides = (items, high) => [items - high, high];

function checkIntegers(law) {
  const { types, groups, items } = law;
  groups.forEach((row, g) => {
    if (row.flat().reduce((sum, x) => sum + x, 0) !== GRID) refuse("the integers of a group do not sum to 2^32");
    row.forEach((pair, o) => {
      const on = sides(items[g], types[o][g]);
      if (pair.some((weight, side) => weight && !on[side])) refuse("a side without items has a probability");
    });
  });
  // The smallest and the largest likelihood of an item, for every type and group.
  law.ends = types.map((row, o) =>
    row.map((high, g) => {
      const on = sides(items[g], high);
      const likelihoods = [0, 1]
        .filter((side) => on[side])
        .map((side) => [BigInt(groups[g][o][side]) * BigInt(items[g]), BigInt(on[side])]);
      likelihoods.sort((x, y) => (larger(x, y) ? 1 : larger(y, x) ? -1 : 0));
      return [likelihoods[0], likelihoods.at(-1)];
    }),
  );
  for (const [a, b, budget] of demandedByGroups(law)) {
    const ratio = budget === Infinity ? null : worstRatio(law, a, b);
    if (budget !== Infinity && ratio === null) refuse("the parameters do not keep their budgets");
    if (ratio !== null) checkRatio(...ratio, budget);
  }
}

/** Largest ratio of two items of the groups in one report; null if it is infinite. */
function worstRatio({ ends }, a, b) {
  let worst = [1n, 1n];
  for (const row of ends) {
    for (const [[, most], [least]] of [[row[a], row[b]], [row[b], row[a]]]) {
      if (!most[0]) continue;
      if (!least[0]) return null;
      const ratio = [most[0] * least[1], most[1] * least[0]];
      if (larger(ratio, worst)) worst = ratio;
    }
  }
  return worst;
}

/** Smallest budget of two different items of two groups. */
function demandedByGroups({ levels, rule, own, items, members }) {
  const found = new Map();
  const add = (a, b, budget) => {
    const key = Math.min(a, b) * items.length + Math.max(a, b);
    found.set(key, Math.min(found.get(key) ?? Infinity, budget));
  };
  if (Array.isArray(rule)) {
    for (const [i, j] of pairsOf(range(levels.length))) {
      if (i !== j || levels[i].item_count > 1) add(own[i], own[j], rule[i][j] ?? Infinity);
    }
  } else {
    const least = items.map((_, g) => ({
      epsilon: members.reduce((x, one) => (one.group === g ? Math.min(x, one.epsilon) : x), Infinity),
    }));
    for (const [a, b] of pairsOf(range(items.length))) add(a, b, demandedBudget({ levels: least, rule }, a, b));
  }
  return [...found.entries()]
    .map(([key, budget]) => [Math.floor(key / items.length), key % items.length, budget])
    .filter(([a, b]) => a !== b || items[a] > 1);
}

/** Pairs of levels; of over 200, the most protected of each pair of groups. */
function listed(law) {
  const { levels, own, rule } = law;
  const realised = new Map();
  const ratioOf = (a, b) => {
    const key = Math.min(a, b) * law.items.length + Math.max(a, b);
    if (!realised.has(key)) realised.set(key, worstRatio(law, Math.min(a, b), Math.max(a, b)));
    return realised.get(key);
  };
  const alone = (i, j) => i === j && levels[i].item_count === 1;
  let chosen = pairsOf(range(Math.min(levels.length, MAX_LISTED_LEVELS)));
  if (levels.length > MAX_LISTED_LEVELS) {
    let some = range(levels.length);
    if (!Array.isArray(rule)) {
      // The strictest level of each group, and the second one.
      const picked = law.items.map(() => []);
      const order = [...some].sort((i, j) => levels[i].epsilon - levels[j].epsilon);
      for (const i of order) if (picked[own[i]].length < 2) picked[own[i]].push(i);
      some = picked.flat().sort((i, j) => i - j);
    }
    const best = new Map();
    for (const [i, j] of pairsOf(some)) {
      if (alone(i, j)) continue;
      const key = Math.min(own[i], own[j]) * law.items.length + Math.max(own[i], own[j]);
      const budget = demandedBudget(law, i, j) ?? Infinity;
      if (!best.has(key) || budget < best.get(key)[2]) best.set(key, [i, j, budget]);
    }
    chosen = [...best.values()].sort(([i, j], [k, l]) => i - k || j - l);
  }
  return chosen.flatMap(([first, second]) => {
    const ratio = alone(first, second) ? [1n, 1n] : ratioOf(own[first], own[second]);
    if (ratio === null) return []; // nobody demands it
    return [{ first, second, realised: logAbove(...ratio), demanded: demandedBudget(law, first, second) }];
  });
}

/** An answer counts as one for its item and as none for every other, on average. */
function checkEstimator({ types, groups, items }, values) {
  const scaled = values.map((row) => row.map((pair) => pair.map(floorScaled)));
  const size = (x) => (x < 0n ? -x : x);
  items.forEach((count, a) => {
    const m = BigInt(count);
    let [own, same] = [-D * SCALE, 0n];
    const other = items.map(() => 0n);
    types.forEach((row, o) => {
      const [lowValue, highValue] = scaled[o][a];
      const high = BigInt(row[a]);
      const low = m - high;
      const [atLow, atHigh] = groups[a][o].map(BigInt);
      own += atLow * lowValue + atHigh * highValue;
      same += atLow * (highValue * high + lowValue * (low - 1n));
      same += atHigh * (highValue * (high - 1n) + lowValue * low);
      groups.forEach((weights, b) => {
        other[b] += BigInt(weights[o][0] + weights[o][1]) * (highValue * high + lowValue * low);
      });
    });
    other[a] = 0n;
    const bound = (D * SCALE) / BIAS;
    const biased = size(own) > bound || (m > 1n && size(same) > bound * (m - 1n));
    if (biased || other.some((shift) => size(shift) > bound * m)) refuse("the estimator is biased");
  });
}

/** floor(x 2^80) */
function floorScaled(x) {
  const [top, bottom] = fraction(x);
  const quotient = (top * SCALE) / bottom;
  return quotient * bottom > top * SCALE ? quotient - 1n : quotient;
}

const startsOf = (items) => items.map((_, g) => items.slice(0, g).reduce((sum, x) => sum + x, 0));

/** An item's group, and its place among the bits. */
function placeOf({ levels, own, items }, item) {
  const free = startsOf(items);
  let [level, first] = [0, 0];
  while (item >= first + levels[level].item_count) {
    free[own[level]] += levels[level].item_count;
    first += levels[level].item_count;
    level += 1;
  }
  return [own[level], free[own[level]] + item - first];
}

/** The dummy stands last in its group. */
function dummyOf({ dummy, items }) {
  return [dummy, startsOf(items)[dummy] + items[dummy] - 1];
}

function draw({ types, groups, items, bits: total }, [group, place], source) {
  const starts = startsOf(items);
  let [word] = words(source, 1);
  const flat = groups[group].flat();
  const entry = flat.findIndex((weight) => (word -= weight) < 0);
  const [kind, held] = [entry >> 1, entry & 1];

  const open = items.map((m, g) => ({ m, high: types[kind][g], start: starts[g], g }));
  const split = open.filter(({ m, high }) => high > 0 && high < m);
  const few = ({ m, high }) => Math.min(high, m - high);
  const sizes = split.flatMap((one) => [
    ...range(few(one)).map((k) => one.m - few(one) + k + 1),
    one.high,
    one.m - one.high,
  ]);
  const drawn = chooseAll(source, sizes)[Symbol.iterator]();
  const next = () => drawn.next().value;
  const bits = new Uint8Array(total);
  for (const { m, high, start, g } of open) {
    const count = few({ m, high });
    const ones = count === 0 ? Number(high > 0) : Number(high <= m - high);
    bits.fill(count === 0 ? ones : 1 - ones, start, start + m);
    if (count === 0) continue;
    for (let last = start + m - count; last < start + m; last++) {
      const pick = start + next();
      bits[bits[pick] === ones ? last : pick] = ones;
    }
    const ranks = [next(), next()];
    if (g === group && bits[place] !== held) {
      const there = range(m).filter((k) => bits[start + k] === held);
      bits[start + there[held ? ranks[0] : ranks[1]]] = 1 - held;
      bits[place] = held;
    }
  }
  const report = Buffer.alloc(TYPE_BYTES + 8 * Math.ceil(total / 64));
  report.writeUInt32LE(kind, 0);
  bits.forEach((bit, k) => (report[TYPE_BYTES + (k >> 3)] |= bit << (k & 7)));
  return report;
}
