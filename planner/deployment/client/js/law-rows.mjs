// Channels: a table of probabilities, a row an element; a report is one small number.
// The order of random words is that of planner/laws/rows.py.

import { refuse } from "./parameter-file.mjs";
import { GRID, words } from "./exact-draws.mjs";
import { D, SCALE, checkRatio, floorScaled, fraction, likelihoods, magnitude, sum, worstRatio } from "./exact-checks.mjs";
import { demanded } from "./question-levels.mjs";

const BIAS = 1000000000n; // a person's bias is at most one part in so many of what a person counts for
const [MAX_ROWS, MAX_REPORTS] = [257, 4096];

export function rows({ rows: table, values, blocks }, { levels, wanted }) {
  const reports = table[0].length;
  if (table.length > MAX_ROWS || reports > MAX_REPORTS) refuse("there are too many rows or reports");
  const shaped = (one) => one.every((row) => row.length === reports);
  if (table.length !== levels.total || !shaped(table) || !shaped(values)) refuse("rows and values do not fit");
  if (blocks.length && sum(blocks) !== reports) refuse("blocks do not fit the reports");
  const totals = (row) => {
    let start = 0;
    return blocks.map((size) => sum(row.slice(start, (start += size)))).join();
  };
  for (const row of table) {
    if (sum(row) !== GRID) refuse("a row does not sum to 2^32");
    if (totals(row) !== totals(table[0])) refuse("a block says something of the answers");
  }
  checkBudgets(table, levels);
  checkUnbiased(table, values, wanted);
  return {
    cells: reports,
    size: 2,
    draw: (own, source) => {
      const [word] = words(source, 1);
      const row = table[own];
      let [report, end] = [0, row[0]];
      while (end <= word) end += row[++report];
      return Uint8Array.of(report & 255, report >> 8);
    },
    says: (k, report) => {
      const chances = table.map((row) => row[report[0] + 256 * report[1]] / GRID);
      return { own: chances[k], others: chances.filter((_, other) => other !== k) };
    },
  };
}

function checkBudgets(table, levels) {
  let start = 0;
  const ends = levels.rows.map(({ count }) => {
    const part = table.slice(start, (start += count));
    const columns = part[0].map((_, y) => part.map((row) => row[y]));
    return likelihoods(columns.map((one) => [Math.min(...one), Math.max(...one)].map((end) => [BigInt(end), 1n])));
  });
  ends.forEach((one, i) => ends.forEach((other, j) => checkRatio(worstRatio(one, other), demanded(levels, i, j))));
}

/** Each element counts as what is wanted of it, on average. */
function checkUnbiased(table, values, wanted) {
  if (values.length !== wanted.length) refuse("values do not fit what is wanted");
  const weights = table.map((row) => row.map(BigInt));
  values.forEach((meaning, j) => {
    const scaled = meaning.map((value) => floorScaled(fraction(value)));
    const numbers = wanted[j].map((number) => floorScaled(number, D * SCALE));
    const sizes = wanted[j].map(([top, bottom]) => floorScaled([magnitude(top), bottom], D * SCALE));
    const bound = sizes.reduce((most, x) => (x > most ? x : most), 0n) / BIAS;
    weights.forEach((row, x) => {
      const total = row.reduce((found, weight, y) => found + weight * scaled[y], 0n);
      if (magnitude(total - numbers[x]) > bound) refuse("the estimator is biased");
    });
  });
}
