// What is kept of a person and a question, and each step from what was kept to what is kept next.
// A step draws; memories take it whole or not at all. See planner/deployment/client/client.py.

import { digest, hex, refuse } from "./parameter-file.mjs";
import { joined, system } from "./exact-draws.mjs";

export const ID_BYTES = 8;
const HEAD_BYTES = 4; // the value that lasts, from 1; the last round
const SILENT = 0xffff; // nothing is known of earlier values: none is reported

const withId = (payload) => joined(system(ID_BYTES), payload);
export const drawn = (law, code) => withId(joined(new Uint8Array(law.blanks).fill(1), law.draw(code, system)));

/** Which of the rounds, or of the values, a person reports, from 1. */
export async function ownPart(rounds, fields) {
  const parts = BigInt(rounds.scheme === "once" ? rounds.count : rounds.changes + 1);
  return 1 + Number(BigInt(`0x${hex(await digest(fields.join("\n")))}`) % parts);
}

/** Refuse a round that the question does not have. Nothing has been drawn. */
export function checkRound(law, user, round, changed) {
  const last = law.output ? 2 : law.rounds?.count;
  if (typeof changed !== "boolean" || (changed && !law.blanks)) refuse("there is no change to tell of");
  if (last === undefined) {
    if (round !== undefined) refuse("this question has one round");
  } else if (!Number.isInteger(round) || round < 1 || round > last) {
    refuse(`the round must be from 1 to ${last}`);
  } else if (user === undefined) refuse("a user and a memory are needed");
}

/** { step, released }: what is kept next, and what of it leaves: an id and a report. */
export function stepOf(law, code, { round, changed, own }) {
  if (law.output) return { step: nextRound(law, code, round), released: releasedOfTwo(law, code, round) };
  if (law.blanks) return { step: nextValue(law, code, round, changed, own), released: afterHead };
  if (!law.rounds) return { step: (kept) => kept ?? drawn(law, code), released: (kept) => kept };
  if (round !== own) refuse(`the round must be ${own}, this person's round`);
  return { step: (kept) => kept ?? joined(head(own, own), drawn(law, code)), released: afterHead };
}

const head = (value, round) => Uint8Array.of(value >> 8, value & 255, round >> 8, round & 255);
const afterHead = (kept) => kept.subarray(HEAD_BYTES);

/** Round two takes the place of the die: with round two's report it would tell the answer. */
function nextRound(law, code, round) {
  return (kept) => {
    if (kept?.[0] === round) return kept;
    if (kept?.[0] > round) refuse("round one is over; its report was forgotten");
    const die = kept?.subarray(1 + ID_BYTES) ?? law.draw(code, system);
    if (die.length !== law.size) refuse("the memory is damaged");
    return joined(Uint8Array.of(round), withId(round === 1 ? die : law.output(die, code, round)));
  };
}

const releasedOfTwo = (law, code, round) => (kept) => {
  const [id, report] = [kept.subarray(1, 1 + ID_BYTES), kept.subarray(1 + ID_BYTES)];
  return round === 1 ? joined(id, law.output(report, code, round)) : kept.subarray(1);
};

/** The report of one value, while it lasts: it and the value's number are kept, and no answer. */
function nextValue(law, code, round, changed, own) {
  return (kept) => {
    let [value, lasting] = [round === 1 ? 1 : SILENT, null];
    if (kept !== null) {
      const last = 256 * kept[2] + kept[3];
      if (round === last) return kept;
      if (round < last) refuse(`the round must be at least ${last}`);
      value = Math.min(256 * kept[0] + kept[1] + Number(changed), SILENT);
      if (!changed) lasting = kept.subarray(HEAD_BYTES + ID_BYTES);
    }
    const blank = () => withId(new Uint8Array(law.size));
    const next = () => (value === own ? drawn(law, code) : blank());
    return joined(head(value, round), lasting === null ? next() : withId(lasting));
  };
}
