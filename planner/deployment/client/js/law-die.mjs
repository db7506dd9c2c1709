// Sampling Privacy: a die with decoys, thrown once for two rounds.
// The order of random words is that of planner/laws/die.py.

import { refuse } from "./parameter-file.mjs";
import { GRID, uint32, words } from "./exact-draws.mjs";
import { checkRatio } from "./exact-checks.mjs";

const ACKNOWLEDGEMENTS = {
  "round-two": "Nobody who sees a person's round two can see that person's round one.",
  "aggregates-only": "A trusted aggregator releases the estimates alone.",
};

export function die(question, { levels }) {
  const { guarantee, sampling: sampled, zero, decoys, none_epsilon: none } = question;
  const { aggregates, relies_on: relied, acknowledged, round_two_epsilon: roundTwo } = guarantee;
  if (acknowledged !== ACKNOWLEDGEMENTS[relied]) refuse("the weak point is not acknowledged");
  if (decoys.length !== levels.total) refuse("one decoy per value is needed");
  if (aggregates.others_with_each_value.length !== levels.total) refuse("one number of others per value");
  if (decoys.reduce((sum, x) => sum + x, sampled + zero) !== GRID) refuse("the die has a gap");
  if (!zero && !question.everyone_has_value) refuse("output 0 would give a person away");
  let start = 0;
  const raised = levels.rows.map(({ count, epsilon }) => [decoys.slice(start, (start += count)), epsilon]);
  if (!question.everyone_has_value) raised.push([[zero], none]);
  for (const [own, epsilon] of raised) {
    const face = own.reduce((x, y) => Math.min(x, y)); // the one that the truth raises most
    for (const budget of [epsilon, roundTwo]) checkRatio([face + sampled, face], budget);
  }
  const endless = relied === "aggregates-only" && aggregates.epsilon === "infinite";
  if (endless) refuse("released estimates have no finite epsilon, yet are relied on");
  return {
    cells: 2 * (1 + levels.total), // of both rounds
    size: 4,
    says: (own, report, round) => {
      const faces = [zero, ...decoys];
      const [face] = new Uint32Array(report.slice().buffer);
      const told = (answer) => face === (round === 2 ? answer : 0);
      const chance = (answer) => (faces[face] + (told(answer) ? sampled : 0)) / GRID;
      const answers = [...faces.keys()].slice(Number(question.everyone_has_value));
      return { own: chance(own), others: answers.filter((answer) => answer !== own).map(chance) };
    },
    draw: (_, source) => uint32(...words(source, 1)),
    output: (thrown, own, round) => {
      let left = new DataView(thrown.buffer, thrown.byteOffset).getUint32(0, true);
      for (const [face, width] of [zero, ...decoys].entries()) {
        if (left < width) return uint32(face);
        left -= width;
      }
      return uint32(round === 2 ? own : 0);
    },
  };
}
