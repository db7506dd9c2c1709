// Laws: a way of asking and a form of report, made of a question of the right shape and proven.
// Each is { size, cells, code, draw }: the bytes of a report; the sums that a collector keeps;
// "code" checks an answer and draws nothing; "draw" takes random bytes in the order that the Python
// client's planner/laws documents; "output", where there are rounds, makes a round's report.

import { ASKED } from "./answers.mjs";
import { bits } from "./bits.mjs";
import { die } from "./die.mjs";
import { hash } from "./hashing.mjs";
import { rows } from "./rows.mjs";
import { sides } from "./sides.mjs";
import { staircase } from "./staircase.mjs";

const SHAPES = new Map(Object.entries({ bits, sides, rows, staircase, hash, die }));

export function lawOf(question) {
  const asked = ASKED.get(question.asked)(question);
  const shape = SHAPES.get(question.law)(question, asked);
  const blanks = Number(question.rounds?.scheme === "one-value"); // a byte that tells
  return {
    ...shape,
    size: shape.size + blanks,
    cells: (shape.cells + blanks) * (question.rounds?.count ?? 1),
    rounds: question.rounds,
    blanks,
    code: asked.code,
    draw: (code, source) => shape.draw(asked.own(code, source), source),
  };
}
