// A question that is asked again: in which round a person reports, or which of their values. See
// planner/laws/rounds.py and planner/deployment/client/rounds.py, which do the same.

import { createHash } from "node:crypto";

import { refuse } from "./document.mjs";

const SILENT = 0xffff; // nothing is known of earlier values: none is reported

/** Which of the rounds, or of the values, a person reports, from 1. */
export function ownPart(rounds, fields) {
  const parts = BigInt(rounds.scheme === "once" ? rounds.count : rounds.changes + 1);
  const digest = createHash("sha256").update(fields.join("\n"), "utf8").digest("hex");
  return 1 + Number(BigInt(`0x${digest}`) % parts);
}

/** The report of one value, while it lasts: it and the value's number are kept, and no answer. */
export function nextValue(memory, parts, rounds, { round, changed, own, size, draw, withId }) {
  const key = (number) => [...parts, "value", number];
  for (let later = rounds.count; later > round; later--) {
    if (memory.recall(key(later)) !== null) refuse(`the round must be at least ${later}`);
  }
  let kept = memory.recall(key(round));
  if (kept !== null) return kept.subarray(2);
  let last = round - 1;
  while (last > 0 && memory.recall(key(last)) === null) last--;
  const before = last > 0 ? memory.recall(key(last)) : null;
  let value = round === 1 ? 1 : SILENT;
  if (before !== null) value = Math.min(before.readUInt16BE() + Number(changed), SILENT);
  let report;
  if (before !== null && !changed) report = before.subarray(before.length - size);
  else report = value === own ? Buffer.concat([Buffer.from([1]), draw()]) : Buffer.alloc(size);
  const head = Buffer.alloc(2);
  head.writeUInt16BE(value);
  kept = memory.keep(key(round), Buffer.concat([head, withId(report)]));
  if (before !== null) memory.forget(key(last));
  return kept.subarray(2);
}
