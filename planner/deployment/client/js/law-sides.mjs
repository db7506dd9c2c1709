// Subset designs and subset selection: a type, and for every element one of two sides.
// The order of random words is that of planner/laws/sides.py.

import { refuse } from "./parameter-file.mjs";
import { GRID, chooseAll, hasBit, octets, setBit, uint32, words } from "./exact-draws.mjs";
import { D, SCALE, checkRatio, floorScaled, fraction, likelihoods, magnitude, sum, worstRatio } from "./exact-checks.mjs";
import { demanded, members, ofBoth } from "./question-levels.mjs";

const BIAS = 1000000000n; // a person may shift an estimate by one part in so many of a person
const [MAX_GROUPS, MAX_TYPES] = [64, 4096];
const TYPE_BYTES = 8;

const range = (count) => Array.from({ length: count }, (_, k) => k);
const pairsOf = (size) => range(size).flatMap((a) => range(size).map((b) => [a, b]));

export function sides(question, { levels }) {
  const law = read(question, levels);
  check(law);
  const typeBytes = law.types.length > 1 ? TYPE_BYTES : 0;
  return {
    cells: law.types.length * (1 + levels.elements),
    addends: 2 * law.types.length,
    size: typeBytes + octets(levels.elements),
    draw: (own, source) => draw(law, own, typeBytes, source),
    says: (k, report) => ({ marked: hasBit(report, 8 * typeBytes + placeOf(law, k)[1]), ...chances(law, k) }),
  };
}

function read({ groups, types, weights, values }, levels) {
  const all = members(levels);
  const [size, kinds] = [weights.length, types.length];
  const right = new Set(groups).size === size && groups.every((group) => group < size);
  if (groups.length !== all.length || !right) refuse("groups do not fit the levels");
  if (size > MAX_GROUPS || kinds > MAX_TYPES) refuse("there are too many types or groups");
  const shaped = (rows, [count, ...rest]) =>
    rows.length === count && (!rest.length || rows.every((row) => shaped(row, rest)));
  const valued = kinds * size > 1 ? [kinds, size, 2] : [0];
  const fit = shaped(types, [kinds, size]) && shaped(weights, [size, kinds, 2]) && shaped(values, valued);
  if (!fit) refuse("types, weights and values do not fit");
  const counts = Array(size).fill(0);
  all.forEach(({ count }, i) => (counts[groups[i]] += count));
  if (types.some((row) => row.some((high, g) => high > counts[g]))) refuse("more are high than there are");
  if (sum(counts) < 2) refuse("there are too few elements");
  return { levels, groups, types, weights, values, counts };
}

/** How many elements of a group are low and high in a type. */
const standing = ({ counts, types }, g, o) => [counts[g] - types[o][g], types[o][g]];

function check(law) {
  const { weights, counts, levels } = law;
  const ends = weights.map((row, g) => {
    if (sum(row.flat()) !== GRID) refuse("the integers of a group do not sum to 2^32");
    return likelihoods(
      row.map((pair, o) => {
        const on = standing(law, g, o);
        if (pair.some((weight, side) => weight && !on[side])) refuse("a side without items has a probability");
        const found = [0, 1]
          .filter((side) => on[side])
          .map((side) => [BigInt(pair[side]) * BigInt(counts[g]), BigInt(on[side])]);
        const [first, last] = [found[0], found.at(-1)];
        return first[0] * last[1] > last[0] * first[1] ? [last, first] : [first, last];
      }),
    );
  });
  for (const [a, b, budget] of demandedByGroups(law)) checkRatio(worstRatio(ends[a], ends[b]), budget);
  if (law.values.length) checkEstimator(law);
  else checkSupport(law, levels.elements);
}

/** Smallest budget of two different elements of two groups. */
function demandedByGroups({ levels, groups, counts }) {
  const found = counts.map(() => counts.map(() => Infinity));
  const add = (a, b, budget) => (found[a][b] = Math.min(found[a][b], budget));
  if (Array.isArray(levels.rule)) {
    for (const [i, j] of pairsOf(levels.rows.length)) add(groups[i], groups[j], demanded(levels, i, j));
  } else {
    const least = counts.map(() => ({ epsilon: Infinity, against: Infinity }));
    members(levels).forEach(({ epsilon, against }, i) => {
      const one = least[groups[i]];
      [one.epsilon, one.against] = [Math.min(one.epsilon, epsilon), Math.min(one.against, against)];
    });
    for (const [a, b] of pairsOf(counts.length)) add(a, b, ofBoth(levels.rule, least[a], least[b]));
  }
  const all = found.flatMap((row, a) => row.map((budget, b) => [a, b, budget]));
  return all.filter(([a, b]) => a !== b || counts[a] > 1);
}

/** A set of one size holds the true element more often than another. */
function checkSupport({ types: [[high]], weights: [[[atLow, atHigh]]] }, elements) {
  const others = BigInt(atLow) * BigInt(high) + BigInt(atHigh) * BigInt(high - 1);
  if (BigInt(atHigh) * BigInt(elements - 1) <= others) refuse("a report says nothing of the true item");
}

/** An answer counts as one for its item and as none for every other, on average. */
function checkEstimator({ types, weights, counts, values }) {
  const bound = (D * SCALE) / BIAS;
  const sent = weights.map((row) => row.map(([low, high]) => BigInt(low + high)));
  counts.forEach((count, a) => {
    const m = BigInt(count);
    let [own, same] = [-D * SCALE, 0n];
    const totals = types.map((row, o) => {
      const [lowValue, highValue] = values[o][a].map((value) => floorScaled(fraction(value)));
      const high = BigInt(row[a]);
      const [atLow, atHigh] = weights[a][o].map(BigInt);
      const total = highValue * high + lowValue * (m - high);
      own += atLow * lowValue + atHigh * highValue;
      same += atLow * (total - lowValue) + atHigh * (total - highValue);
      return total;
    });
    const others = sent.map((row, b) => (b === a ? 0n : row.reduce((x, weight, o) => x + weight * totals[o], 0n)));
    const biased = magnitude(own) > bound || (m > 1n && magnitude(same) > bound * (m - 1n));
    if (biased || others.some((shift) => magnitude(shift) > bound * m)) refuse("the estimator is biased");
  });
}

/** An element's group, and its place among the bits. */
function placeOf({ levels, groups, counts }, own) {
  const free = counts.map((_, g) => sum(counts.slice(0, g)));
  let [level, first] = [0, 0];
  const all = members(levels);
  while (own >= first + all[level].count) {
    free[groups[level]] += all[level].count;
    first += all[level].count;
    level += 1;
  }
  return [groups[level], free[groups[level]] + own - first];
}

/** How often an element is high, for whom it is the own one and for others, by group. */
function chances(law, k) {
  const { counts, types, weights } = law;
  const [group] = placeOf(law, k);
  const average = (g, chance) =>
    sum(types.flatMap((_, o) => [0, 1].map((side) => weights[g][o][side] * chance(o, side)))) / GRID;
  const others = counts.flatMap((m, g) => {
    const same = Number(g === group); // an element of its group is another one
    return m > same ? [average(g, (o, side) => (types[o][group] - same * side) / (counts[group] - same))] : [];
  });
  return { own: average(group, (_, side) => side), others };
}

function draw(law, own, typeBytes, source) {
  const [group, place] = placeOf(law, own);
  let [word] = words(source, 1);
  const entry = law.weights[group].flat().findIndex((weight) => (word -= weight) < 0);
  const [kind, held] = [entry >> 1, entry & 1];
  const few = law.counts.map((_, g) => Math.min(...standing(law, g, kind)));
  const sizes = law.counts.flatMap((m, g) => {
    const [low, high] = standing(law, g, kind);
    return few[g] ? [...range(few[g]).map((k) => m - few[g] + k + 1), high, low] : [];
  });
  const drawn = chooseAll(source, sizes)[Symbol.iterator]();
  const next = () => drawn.next().value;
  const bits = new Uint8Array(sum(law.counts));
  let start = 0;
  law.counts.forEach((m, g) => {
    const [low, high] = standing(law, g, kind);
    const ones = few[g] === 0 ? Number(high > 0) : Number(high <= low);
    bits.fill(few[g] === 0 ? ones : 1 - ones, start, start + m);
    if (few[g]) {
      for (let last = start + m - few[g]; last < start + m; last++) {
        const pick = start + next();
        bits[bits[pick] === ones ? last : pick] = ones;
      }
      const ranks = [next(), next()];
      if (g === group && bits[place] !== held) {
        let left = held ? ranks[0] : ranks[1];
        let other = start;
        while (bits[other] !== held || left-- > 0) other++;
        bits[other] = 1 - held;
        bits[place] = held;
      }
    }
    start += m;
  });
  const report = new Uint8Array(typeBytes + octets(bits.length));
  if (typeBytes) report.set(uint32(kind));
  bits.forEach((bit, k) => bit && setBit(report, 8 * typeBytes + k));
  return report;
}
