// Laws: a way of asking and a form of report, made of a question of the right shape and proven.
// Each is { size, cells, code, draw }: the bytes of a report; the sums that a collector keeps. Of a
// question with an anchor an answer is a pair, and a report has the bytes of both.
// "says" tells the person what a report of theirs says: of an element whether it is marked, and of
// how many people for whom it is the own one, or another, the report is like that.
// "code" checks an answer and draws nothing; "draw" takes random bytes in the order that the Python
// client's planner/laws documents; "output", where there are rounds, makes a round's report.

import { ASKED } from "./ways-of-asking.mjs";
import { bits } from "./law-bits.mjs";
import { die } from "./law-die.mjs";
import { hash } from "./law-hash.mjs";
import { rows } from "./law-rows.mjs";
import { sides } from "./law-sides.mjs";
import { overlap } from "./law-overlap.mjs";
import { joined } from "./exact-draws.mjs";
import { refuse } from "./parameter-file.mjs";

const SHAPES = new Map(Object.entries({ bits, sides, rows, overlap, hash, die }));

export function lawOf(question) {
  const asked = ASKED.get(question.asked)(question);
  const shape = SHAPES.get(question.law)(question, asked);
  const blanks = Number(question.rounds?.scheme === "one-value"); // a byte that tells
  const { anchor } = question;
  if (anchor) checkAnchor(question, asked, shape);
  const draw = (code, source) => shape.draw(asked.own(code, source), source);
  return {
    ...shape,
    size: shape.size * (anchor ? 2 : 1) + blanks,
    cells: anchor ? shape.addends * (1 + shape.cells) : (shape.cells + blanks) * (question.rounds?.count ?? 1),
    rounds: question.rounds,
    blanks,
    anchor,
    code: (answer) => (anchor ? pairOf(answer).map(asked.code) : asked.code(answer)),
    open: Array.isArray(question.rule) && question.rule.flat().includes(null),
    most: (code) => [shape.cap ?? asked.most(code)].flat(),
    says: (code, report, round) => {
      if (blanks && !report[0]) return [];
      const payload = report.subarray(blanks);
      return asked.about(code).map((parts) => saidOf(parts, (k) => shape.says(k, payload, round)));
    },
    draw: (code, source) => (anchor ? joined(draw(code[0], source), draw(code[1], source)) : draw(code, source)),
  };
}

function checkAnchor({ anchor, rounds }, asked, { addends }) {
  if (rounds || !addends) refuse("a question in rounds, or of another law, has an anchor");
  asked.code(anchor.known);
}

/** The answer to a question and the one to its anchor. */
function pairOf(answer) {
  if (!Array.isArray(answer) || answer.length !== 2) refuse("two answers are needed, the second to the anchor");
  return answer;
}

function saidOf(parts, says) {
  const found = parts.map(([k]) => says(k));
  const [{ marked, others }] = found; // chances are those of being marked, or of this very report
  const left = parts.reduce((rest, [, share]) => rest - share, 1); // about another, or a dummy
  const own = parts.reduce((sum, [, share], i) => sum + share * found[i].own, Math.max(0, left) * others[0]);
  const like = (chance) => (marked === false ? 1 - chance : chance);
  const all = found.flatMap((one) => one.others).map(like);
  return { element: parts[0][0], marked, own: like(own), low: Math.min(...all), high: Math.max(...all) };
}
