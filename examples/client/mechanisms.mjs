// The mechanisms: each takes a question of the right shape, proves its budgets, and gives
// { pairs, estimator, size, cells, code, draw }: what follows from the integers; the bytes of a
// report; the sums that a collector keeps;
// "code" checks an answer and draws nothing; "draw" takes random bytes in the order that the Python
// client's planner/deployment/client/mechanisms documents.

import { meanChannel } from "./channel.mjs";
import { design } from "./design.mjs";
import { MAX_CELLS, refuse } from "./document.mjs";
import { GRID, choose, respond, uint32, words, xxh32 } from "./draws.mjs";
import { alike, alikePairs, checkRatio, checkUnary } from "./exact.mjs";
import { leastBudget, linear, logAbove, unaryPairs } from "./exact.mjs";
import { itemNumber, itemNumbers, readLevels } from "./levels.mjs";
import { numberIn, readRange } from "./numbers.mjs";
import { orderedChannel } from "./ordered_channel.mjs";
import { checkLonger } from "./sets.mjs";

const D = BigInt(GRID);
const ACKNOWLEDGEMENTS = {
  "round-two": "Nobody who sees a person's round two can see that person's round one.",
  "aggregates-only": "A trusted aggregator releases totals only.",
};

const packed = (bits) => 8 * Math.ceil(bits / 64);

/** Sums that a collector keeps; checked before anything is made of them. */
function counted(cells) {
  if (cells > MAX_CELLS) refuse("there are too many items");
  return cells;
}

function setBit(report, k) {
  report[k >> 3] |= 1 << (k & 7);
}

function unary(question) {
  const domain = readLevels(question, 1);
  const length = question.padding_length ?? 0; // of item sets
  checkLonger(length, question.longer_sets ?? []);
  const a = domain.levels.map((level) => level.a);
  const b = domain.levels.map((level) => level.b);
  if (a.some((top, i) => b[i] >= top)) refuse("b must be below a");
  checkUnary({ ...domain, a, b });
  const least = domain.levels.reduce((best, x, i, all) => (x.epsilon < all[best].epsilon ? i : best), 0);
  const bits = counted(domain.total + length);
  const size = packed(bits);
  const expand = (column) => {
    const full = new Uint32Array(bits).fill(column[least]);
    let start = 0;
    domain.levels.forEach((level, i) => {
      full.fill(column[i], start, (start += level.item_count));
    });
    return full;
  };
  const [ones, zeros] = [expand(a), expand(b)];
  const encode = (own, source) => {
    const report = Buffer.alloc(size);
    words(source, bits).forEach((word, k) => {
      if (word < (k === own ? ones : zeros)[k]) setBit(report, k);
    });
    return report;
  };
  const offsets = b.map((bottom) => [BigInt(bottom), D]);
  const slopes = a.map((top, i) => [BigInt(top - b[i]), D]);
  const estimator = linear(offsets, slopes, Math.max(1, length));
  const common = { size, cells: bits, estimator, pairs: unaryPairs({ ...domain, a, b }) };
  if (!length) return { ...common, code: (answer) => itemNumber(domain, answer), draw: encode };
  return {
    ...common,
    code: (answer) => itemNumbers(domain, answer),
    draw: (items, source) => {
      const slot = choose(source, Math.max(items.length, length));
      const dummy = choose(source, length); // drawn in any case: the number of words is public
      return encode(slot < items.length ? items[slot] : domain.total + dummy, source);
    },
  };
}

function response(question) {
  const domain = readLevels(question, 2);
  const { truth } = question;
  const cells = counted(domain.total);
  const [top, bottom] = responseRatio(truth, domain.total);
  checkRatio(top, bottom, leastBudget(domain));
  const all = D * BigInt(domain.total);
  return {
    pairs: alikePairs(top, bottom, domain),
    estimator: alike([top, all], [bottom, all], domain),
    size: 4,
    cells,
    code: (answer) => itemNumber(domain, answer),
    draw: (item, source) => uint32(respond(item, truth, domain.total, source)),
  };
}

function hashing(question) {
  const domain = readLevels(question, 2);
  const { truth, values } = question;
  const cells = counted(domain.total);
  const [top, bottom] = responseRatio(truth, values);
  checkRatio(top, bottom, leastBudget(domain));
  return {
    pairs: alikePairs(top, bottom, domain),
    estimator: alike([top, D * BigInt(values)], [1n, BigInt(values)], domain),
    size: 8,
    cells,
    code: (answer) => itemNumber(domain, answer),
    draw: (item, source) => {
      const [seed] = words(source, 1);
      return uint32(seed, respond(xxh32(item, seed) % values, truth, values, source));
    },
  };
}

function subset(question) {
  const domain = readLevels(question, 2);
  const { size: chosenSize, held } = question;
  if (chosenSize >= domain.total) refuse("a set must leave items out");
  const above = BigInt(held) * BigInt(domain.total - chosenSize);
  const below = (D - BigInt(held)) * BigInt(chosenSize);
  if (above <= below) refuse("a report must hold the true item more often than another");
  checkRatio(above, below, leastBudget(domain));
  const cells = counted(domain.total);
  const size = packed(cells);
  const [h, d, others] = [BigInt(held), BigInt(chosenSize), BigInt(domain.total - 1)];
  return {
    pairs: alikePairs(above, below, domain),
    estimator: alike([h, D], [h * (d - 1n) + (D - h) * d, D * others], domain),
    size,
    cells,
    code: (answer) => itemNumber(domain, answer),
    draw: (item, source) => {
      const report = Buffer.alloc(size);
      const has = words(source, 1)[0] < held;
      const others = domain.total - 1;
      const chosen = new Set();
      for (let last = others - (chosenSize - has); last < others; last++) {
        const pick = choose(source, last + 1);
        chosen.add(chosen.has(pick) ? last : pick);
      }
      if (has) setBit(report, item);
      for (const pick of chosen) setBit(report, pick + (pick >= item));
      return report;
    },
  };
}

function sign(question) {
  const { epsilon, low } = question;
  const range = readRange(question);
  checkRatio(D - BigInt(low), BigInt(low), epsilon);
  const threshold = (answer) => {
    if (answer === null) return low;
    const level = low + Math.floor(range.share(answer) * (GRID - 2 * low) + 0.5);
    return Math.min(Math.max(level, low), GRID - low);
  };
  const realised = logAbove(GRID - low, low);
  return {
    pairs: [{ first: 0, second: 0, realised, demanded: epsilon }],
    estimator: { noise: low / GRID, theta: (GRID - 2 * low) / GRID },
    size: 1,
    cells: 4,
    code: (answer) => numberIn(range, answer),
    draw: (answer, source) => {
      const [bit, direction] = words(source, 2);
      const positive = direction & 1;
      let one = bit < threshold(answer);
      if (!positive && answer !== null) one = !one;
      return Buffer.from([2 * positive + one]);
    },
  };
}

function sampling(question) {
  const domain = readLevels(question, 1);
  const { guarantee, sampling: sampled, zero, decoys, none_epsilon: none } = question;
  const everyone = question.everyone_has_value;
  const needed = ACKNOWLEDGEMENTS[guarantee.relies_on];
  if (guarantee.acknowledged !== needed) refuse("the weak point is not acknowledged");
  if (decoys.length !== domain.total) refuse("one decoy per value is needed");
  if (decoys.reduce((sum, x) => sum + x, sampled + zero) !== GRID) refuse("the die has a gap");
  if (!zero && !everyone) refuse("output 0 would give a person away");
  const least = []; // of each level the face that the truth raises most
  let start = 0;
  for (const { item_count: count, epsilon } of domain.levels) {
    const faces = decoys.slice(start, (start += count));
    least.push([faces.reduce((x, y) => Math.min(x, y)), epsilon]);
  }
  if (!everyone) least.push([zero, none]);
  for (const [face, epsilon] of least) checkRatio(face + sampled, face, epsilon);
  checkGuarantee(guarantee, domain.total, sampled, Math.min(...least.map(([face]) => face)));
  const pairs = least.map(([face, demanded], i) => {
    return { first: i, second: i, realised: logAbove(face + sampled, face), demanded };
  });
  return {
    pairs,
    estimator: { sampling: sampled / GRID },
    size: 4,
    cells: 2 * counted(1 + domain.total), // of both rounds
    code: (answer) => (answer === null && !everyone ? 0 : 1 + itemNumber(domain, answer)),
    draw: (_, source) => uint32(...words(source, 1)),
    output: (die, code, round) => {
      let left = die.readUInt32LE(0);
      for (const [face, width] of [zero, ...decoys].entries()) {
        if (left < width) return uint32(face);
        left -= width;
      }
      return uint32(round === 2 ? code : 0);
    },
  };
}

/** What a device can prove of the guarantee; "ldp-planner verify" recomputes released totals. */
function checkGuarantee(guarantee, values, sampled, face) {
  const { aggregates } = guarantee;
  if (aggregates.others_with_each_value.length !== values) refuse("one number of others per value");
  checkRatio(face + sampled, face, guarantee.round_two_epsilon);
  if (guarantee.relies_on === "aggregates-only" && aggregates.totals_epsilon === "infinite") {
    refuse("released totals have no finite epsilon, yet are relied on");
  }
}

/** The truth with truth / D, else any of the values: how much likelier is the true one. */
function responseRatio(truth, values) {
  const kept = D - BigInt(truth);
  return [BigInt(truth) * BigInt(values) + kept, kept];
}

/** The first version of the file that has all that the questions state. */
export const versionFor = (questions) => (questions.some(isNew) ? 3 : 2);
const NEW = ["subset-design", "subset-design-ps", "mean-channel", "ordered-channel"];
const isNew = (question) => NEW.includes(question.mechanism) || "longer_sets" in question;

export const MECHANISMS = {
  idue: unary,
  "idue-ps": unary,
  grr: response,
  olh: hashing,
  "subset-selection": subset,
  "subset-design": design,
  "subset-design-ps": design,
  "bisample-md": sign,
  "mean-channel": meanChannel,
  "ordered-channel": orderedChannel,
  "sampling-privacy": sampling,
};
