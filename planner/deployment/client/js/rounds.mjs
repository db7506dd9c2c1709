// A question that is asked again: in which round a person reports, or which of their values. See
// planner/laws/rounds.py and planner/deployment/client/rounds.py, which do the same.

import { digest, hex, refuse } from "./document.mjs";
import { joined } from "./draws.mjs";

const SILENT = 0xffff; // nothing is known of earlier values: none is reported

/** Which of the rounds, or of the values, a person reports, from 1. */
export async function ownPart(rounds, fields) {
  const parts = BigInt(rounds.scheme === "once" ? rounds.count : rounds.changes + 1);
  return 1 + Number(BigInt(`0x${hex(await digest(fields.join("\n")))}`) % parts);
}

/** The report of one value, while it lasts: it and the value's number are kept, and no answer. */
export async function nextValue(memory, parts, rounds, { round, changed, own, size, draw, withId }) {
  const key = (number) => [...parts, "value", number];
  for (let later = rounds.count; later > round; later--) {
    if ((await memory.recall(key(later))) !== null) refuse(`the round must be at least ${later}`);
  }
  let kept = await memory.recall(key(round));
  if (kept !== null) return kept.subarray(2);
  let last = round - 1;
  while (last > 0 && (await memory.recall(key(last))) === null) last--;
  const before = last > 0 ? await memory.recall(key(last)) : null;
  let value = round === 1 ? 1 : SILENT;
  if (before !== null) value = Math.min(256 * before[0] + before[1] + Number(changed), SILENT);
  let report;
  if (before !== null && !changed) report = before.subarray(before.length - size);
  else report = value === own ? joined(Uint8Array.of(1), draw()) : new Uint8Array(size);
  kept = await memory.keep(key(round), joined(Uint8Array.of(value >> 8, value & 255), withId(report)));
  if (before !== null) await memory.forget(key(last));
  return kept.subarray(2);
}
