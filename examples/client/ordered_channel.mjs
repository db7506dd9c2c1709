// Channels for ordered answers: a row of probabilities an answer, shares up to each answer.
// The order of random words is that of planner/deployment/client/mechanisms/ordered_channel.py.

import { checkLaw, checkShape, checkUnbiased, largestRatios, output } from "./channel.mjs";
import { refuse } from "./document.mjs";
import { words } from "./draws.mjs";
import { checkRatio, demandedBudget, fraction, logAbove } from "./exact.mjs";
import { itemNumber, readLevels } from "./levels.mjs";

const MAX_ANSWERS = 32;

export function orderedChannel(question) {
  const { levels, order, scores, wanted, rows, estimator } = question;
  const domain = readLevels(question, 2);
  const size = domain.total;
  const sorted = [...order].sort((a, b) => a - b);
  if (size > MAX_ANSWERS || order.length !== size || sorted.some((k, i) => k !== i)) {
    refuse("the order does not have every item once");
  }
  if (scores.length && scores.length !== size) refuse("scores do not fit the items");
  if (rows.length !== size) refuse("rows do not fit the items");
  const ofMean = wanted === "mean of scores";
  if (ofMean && !scores.length) refuse("a mean has no scores");
  checkShape(rows, estimator.values, ofMean ? 1 : size - 1);
  checkLaw(rows);
  const pairs = realised(levels, rows).map(({ first, second, ratio }) => {
    const demanded = demandedBudget(domain, first, second);
    const alone = first === second && levels[first].item_count === 1;
    if (!alone && demanded !== null && demanded !== Infinity) checkRatio(...ratio, demanded);
    return { first, second, realised: logAbove(...ratio), demanded };
  });
  const rank = order.map((_, k) => order.indexOf(k));
  const upTo = (answer) => rank.map((place) => [place <= answer ? 1n : 0n, 1n]);
  const shares = () => Array.from({ length: size - 1 }, (_, answer) => upTo(answer));
  const counted = ofMean ? [rank.map((place) => fraction(scores[place]))] : shares();
  checkUnbiased(rows, estimator.values, counted);
  return {
    pairs,
    estimator,
    size: 2,
    cells: rows[0].length,
    code: (answer) => itemNumber(domain, answer),
    draw: (item, source) => output(rows[item], words(source, 1)[0]),
  };
}

/** Largest ratio of two items of each pair of levels in one report. */
function realised(levels, rows) {
  let start = 0;
  return largestRatios(levels.map(({ item_count: count }) => rows.slice(start, (start += count))));
}
