// The mechanisms: each takes a question, proves its budgets, and gives { size, code, draw }: "size"
// is the bytes of a report; "code" checks an answer and draws nothing; "draw" takes random bytes in
// the order that the Python client's planner/deployment/client/mechanisms documents.

import { budget, flag, list, number, refuse, whole } from "./document.mjs";
import { GRID, choose, respond, uint32, words, xxh32 } from "./draws.mjs";
import { checkRatio, checkUnary, leastBudget } from "./exact.mjs";
import { itemNumber, readLevels } from "./levels.mjs";

const D = BigInt(GRID);
const MAX_BITS = 2 ** 24;
const ACKNOWLEDGEMENTS = {
  "round-two": "Nobody who sees a person's round two can see that person's round one.",
  "aggregates-only": "A trusted aggregator releases totals only.",
};

function packed(bits) {
  if (bits > MAX_BITS) refuse("there are too many items");
  return 8 * Math.ceil(bits / 64);
}

function setBit(report, k) {
  report[k >> 3] |= 1 << (k & 7);
}

function unary(question) {
  const domain = readLevels(question, 1);
  const sets = question.mechanism === "idue-ps";
  const length = sets ? whole(question, "padding_length", 1, 2 ** 20) : 0;
  if (sets && domain.rule !== "min") refuse("item sets need the rule min");
  const a = domain.levels.map((level) => whole(level, "a", 1, GRID - 1));
  const b = domain.levels.map((level) => whole(level, "b", 1, GRID - 1));
  if (a.some((top, i) => b[i] >= top)) refuse("b must be below a");
  checkUnary({ ...domain, a, b });
  const least = domain.levels.reduce((best, x, i, all) => (x.epsilon < all[best].epsilon ? i : best), 0);
  const bits = domain.total + length;
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
  if (!sets) return { size, code: (answer) => itemNumber(domain, answer), draw: encode };
  return {
    size,
    code: (answer) => {
      if (!Array.isArray(answer)) refuse("the answer is not a list of items");
      const items = answer.map((item) => itemNumber(domain, item)).sort((x, y) => x - y);
      if (new Set(items).size < items.length) refuse("the answer has repeats");
      return items;
    },
    draw: (items, source) => {
      const slot = choose(source, Math.max(items.length, length));
      const dummy = choose(source, length); // drawn in any case: the number of words is public
      return encode(slot < items.length ? items[slot] : domain.total + dummy, source);
    },
  };
}

function response(question) {
  const domain = readLevels(question, 2);
  const truth = whole(question, "truth", 1, GRID - 1);
  if (domain.total > GRID) refuse("there are too many items");
  const kept = D - BigInt(truth);
  checkRatio(BigInt(truth) * BigInt(domain.total) + kept, kept, leastBudget(domain));
  return {
    size: 4,
    code: (answer) => itemNumber(domain, answer),
    draw: (item, source) => uint32(respond(item, truth, domain.total, source)),
  };
}

function hashing(question) {
  const domain = readLevels(question, 2);
  const truth = whole(question, "truth", 1, GRID - 1);
  const values = whole(question, "values", 2, GRID - 1);
  if (question.hash_function !== "xxh32") refuse("the hash function is not known");
  if (domain.total > GRID) refuse("there are too many items");
  const kept = D - BigInt(truth);
  checkRatio(BigInt(truth) * BigInt(values) + kept, kept, leastBudget(domain));
  return {
    size: 8,
    code: (answer) => itemNumber(domain, answer),
    draw: (item, source) => {
      const [seed] = words(source, 1);
      return uint32(seed, respond(xxh32(item, seed) % values, truth, values, source));
    },
  };
}

function subset(question) {
  const domain = readLevels(question, 2);
  const chosenSize = whole(question, "size", 1, domain.total - 1);
  const held = whole(question, "held", 1, GRID - 1);
  const above = BigInt(held) * BigInt(domain.total - chosenSize);
  const below = (D - BigInt(held)) * BigInt(chosenSize);
  if (above <= below) refuse("a report must hold the true item more often than another");
  checkRatio(above, below, leastBudget(domain));
  const size = packed(domain.total);
  return {
    size,
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
  const epsilon = budget(question, "epsilon");
  const low = whole(question, "low", 1, GRID / 2 - 1);
  const lower = number(question, "lower", -Number.MAX_VALUE, Number.MAX_VALUE);
  const upper = number(question, "upper", -Number.MAX_VALUE, Number.MAX_VALUE);
  const yesNo = flag(question, "yes_no");
  if (!(lower < upper) || !Number.isFinite(upper - lower)) refuse("the range is empty or endless");
  checkRatio(D - BigInt(low), BigInt(low), epsilon);
  const threshold = (answer) => {
    if (answer === null) return low;
    const share = (answer - lower) / (upper - lower);
    const level = low + Math.floor(share * (GRID - 2 * low) + 0.5);
    return Math.min(Math.max(level, low), GRID - low);
  };
  return {
    size: 1,
    code: (answer) => {
      if (answer === null || Number.isNaN(answer)) return null;
      if (typeof answer !== "number" || !(answer >= lower && answer <= upper)) {
        refuse("the answer is outside the question's range");
      }
      if (yesNo && answer !== lower && answer !== upper) refuse("the answer is neither yes nor no");
      return answer;
    },
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
  const guarantee = question.guarantee;
  const needed = ACKNOWLEDGEMENTS[guarantee?.relies_on];
  if (!needed || guarantee.acknowledged !== needed) refuse("the weak point is not acknowledged");
  const sampled = whole(question, "sampling", 1, GRID - 1);
  const zero = whole(question, "zero", 0, GRID - 1);
  const decoys = list(question, "decoys").map((_, j, all) => whole(all, j, 1, GRID - 1));
  const everyone = flag(question, "everyone_has_value");
  const none = budget(question, "none_epsilon");
  if (decoys.length !== domain.total) refuse("one decoy per value is needed");
  if (decoys.reduce((sum, x) => sum + x, sampled + zero) !== GRID) refuse("the die has a gap");
  if (!zero && !everyone) refuse("output 0 would give a person away");
  let position = 0;
  for (const level of domain.levels) {
    for (let k = 0; k < level.item_count; k++, position++) {
      checkRatio(decoys[position] + sampled, decoys[position], level.epsilon);
    }
  }
  if (!everyone) checkRatio(zero + sampled, zero, none);
  return {
    size: 4,
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

export const MECHANISMS = {
  idue: unary,
  "idue-ps": unary,
  grr: response,
  olh: hashing,
  "subset-selection": subset,
  "bisample-md": sign,
  "sampling-privacy": sampling,
};
