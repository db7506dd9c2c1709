// Channels: a table of probabilities, a row a possible answer; a report is one small number.
// The order of random words is that of planner/deployment/client/mechanisms/channel.py.

import { refuse } from "./document.mjs";
import { GRID, words } from "./draws.mjs";
import { checkRatio, fraction, logAbove } from "./exact.mjs";
import { numberIn, readRange } from "./numbers.mjs";

const D = BigInt(GRID);
const SCALE = 1n << 80n;
const BIAS = 10000000n; // a person's bias is at most one part in so many of the largest value
const [MAX_SYMBOLS, MAX_OUTPUTS] = [64, 4096];

export function meanChannel(question) {
  const { epsilon, yes_no: yesNo, rows, estimator } = question;
  const range = readRange(question);
  if (yesNo && rows.length !== 3) refuse("a question of yes and no has three rows");
  checkShape(rows, estimator.values, 2);
  checkLaw(rows);
  const named = readLevels(question.levels, rows.length, epsilon);
  const groups = named ?? [{ epsilon, rows: rows.map((_, x) => x) }];
  const pairs = largestRatios(groups.map((level) => level.rows.map((x) => rows[x]))).map(
    ({ first, second, ratio }) => {
      const demanded = Math.min(groups[first].epsilon, groups[second].epsilon);
      checkRatio(...ratio, demanded);
      return { first, second, realised: logAbove(...ratio), demanded };
    },
  );
  const last = rows.length - 2;
  const grid = Array.from({ length: last + 1 }, (_, k) => [BigInt(2 * k - last), BigInt(last)]);
  const one = grid.map(() => [1n, 1n]);
  checkUnbiased(rows, estimator.values, [[...grid, [0n, 1n]], [...one, [0n, 1n]]]);
  const rounded = (answer, word) => {
    const share = range.share(answer) * last;
    const below = Math.min(Math.floor(share), last - 1);
    return below + (word < Math.floor((share - below) * GRID + 0.5));
  };
  return {
    pairs,
    estimator,
    size: 2,
    cells: rows[0].length,
    code: (answer) => numberIn(range, answer),
    draw: (answer, source) => {
      const [rounding, word] = words(source, 2);
      return output(rows[answer === null ? last + 1 : rounded(answer, rounding)], word);
    },
  };
}

export function checkShape(rows, values, numbers) {
  const outputs = rows[0].length;
  if (rows.length > MAX_SYMBOLS || outputs > MAX_OUTPUTS) refuse("there are too many rows or reports");
  const shaped = (table) => table.every((row) => row.length === outputs);
  if (!shaped(rows) || !shaped(values) || values.length !== numbers) refuse("rows and estimator do not fit");
}

export function checkLaw(rows) {
  if (rows.some((row) => row.reduce((sum, x) => sum + x, 0) !== GRID)) refuse("a row does not sum to 2^32");
}

/** Levels with budgets of their own, every row in one; null if all have the same budget. */
function readLevels(stated, size, epsilon) {
  if (stated === undefined) return null;
  const held = stated.flatMap((level) => level.rows).sort((a, b) => a - b);
  if (held.length !== size || held.some((x, k) => x !== k)) refuse("levels do not have every row once");
  if (new Set(stated.map((level) => level.name)).size < stated.length) refuse("two levels share a name");
  if (Math.max(...stated.map((level) => level.epsilon)) !== epsilon) refuse("epsilon is not the largest");
  return stated;
}

/** Largest ratio of a row of one group and one of the other in any report. */
export function largestRatios(groups) {
  const ends = groups.map((group) =>
    group[0].map((_, y) => {
      const column = group.map((row) => row[y]);
      return [Math.min(...column), Math.max(...column)];
    }),
  );
  const pairs = [];
  ends.forEach((one, first) => {
    for (let second = first; second < ends.length; second++) {
      let worst = [1n, 1n];
      one.forEach(([least, most], y) => {
        const [low, high] = ends[second][y];
        for (const [top, bottom] of [[most, low], [high, least]]) {
          if (BigInt(top) * worst[1] > worst[0] * BigInt(bottom)) worst = [BigInt(top), BigInt(bottom)];
        }
      });
      pairs.push({ first, second, ratio: worst });
    }
  });
  return pairs;
}

/** Each symbol counts as what is wanted of it, on average. */
export function checkUnbiased(rows, values, wanted) {
  values.forEach((meaning, j) => {
    const scaled = meaning.map((value) => {
      const [top, bottom] = fraction(value);
      return floorDivide(top * SCALE, bottom);
    });
    const largest = scaled.reduce((most, x) => (x > most ? x : -x > most ? -x : most), 0n);
    const bound = (D * largest) / BIAS;
    rows.forEach((row, x) => {
      const [top, bottom] = wanted[j][x];
      const total = row.reduce((sum, weight, y) => sum + BigInt(weight) * scaled[y], 0n);
      const off = total - floorDivide(top * D * SCALE, bottom);
      if (off > bound || -off > bound) refuse("the estimator is biased");
    });
  });
}

const floorDivide = (top, bottom) => (top - (((top % bottom) + bottom) % bottom)) / bottom;

/** The first report whose probabilities, added up to it, exceed the word. */
export function output(row, word) {
  let [report, end] = [0, row[0]];
  while (end <= word) end += row[++report];
  const data = Buffer.alloc(2);
  data.writeUInt16LE(report);
  return data;
}
