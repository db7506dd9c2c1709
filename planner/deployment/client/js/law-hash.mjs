// Local hashing: a seed, and a hash value by randomised response.
// The order of random words is that of planner/laws/hashing.py.

import { refuse } from "./parameter-file.mjs";
import { GRID, choose, uint32, words, xxh32 } from "./exact-draws.mjs";
import { D, checkRatio } from "./exact-checks.mjs";
import { leastDemanded } from "./question-levels.mjs";

export function hash({ truth, values }, { levels }) {
  const kept = D - BigInt(truth);
  checkRatio([BigInt(truth) * BigInt(values) + kept, kept], leastDemanded(levels));
  if (BigInt(truth) * BigInt(values) + kept <= D) refuse("a report says nothing of the true item");
  return {
    cells: levels.total,
    addends: 2,
    size: 8,
    says: (k, report) => {
      const [seed, value] = new Uint32Array(report.slice().buffer);
      const own = (truth * values + GRID - truth) / values / GRID;
      return { marked: xxh32(k, seed) % values === value, own, others: [1 / values] };
    },
    draw: (own, source) => {
      const [[seed], [word]] = [words(source, 1), words(source, 1)];
      return uint32(seed, word < truth ? xxh32(own, seed) % values : choose(source, values));
    },
  };
}
