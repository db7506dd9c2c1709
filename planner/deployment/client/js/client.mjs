// The client in JavaScript, for browsers and Node: the same parameter file, the same exact draws,
// the same conformance vectors as the Python client. It uses what both have: crypto, typed arrays.

import { MAX_CELLS, digest, hex, parseDocument, refuse } from "./document.mjs";
import { joined, system } from "./draws.mjs";
import { lawOf } from "./laws.mjs";
import { nextValue, ownPart } from "./rounds.mjs";
import SCHEMA from "./schema.json" with { type: "json" };
import { checkShape } from "./shape.mjs";

export { Refused } from "./document.mjs";

const ID_BYTES = 8;

export class Client {
  #laws = new Map();
  #memory;

  /** data: the bytes of a parameter file; its promises are proven here, before any report. */
  static async open(data, memory = null) {
    return new Client(await parseDocument(data), memory);
  }

  constructor({ document, hash }, memory) {
    checkShape(document, SCHEMA);
    this.parameters = hash;
    this.#memory = memory;
    let cells = 0;
    for (const question of document.questions) {
      if (this.#laws.has(question.name)) refuse("a question's name appears twice");
      const law = lawOf(question);
      cells += law.cells;
      if (cells > MAX_CELLS) refuse("all questions together have too many items");
      this.#laws.set(question.name, law);
    }
  }

  law(question) {
    return this.#laws.get(question) ?? refuse(`there is no question ${question}`);
  }

  /** One answer in, one line of a report file out; the answer is checked before any draw. */
  async report(question, answer, { user, round, changed = false } = {}) {
    const law = this.law(question);
    const code = law.code(answer);
    const draw = () => law.draw(code, system);
    const sized = (kept, size) => (kept.length === size ? kept : refuse("the memory is damaged"));
    let kept;
    if (law.rounds) {
      const memory = this.#memoryOf(user);
      kept = await this.#again(memory, question, law, { user, round, changed, draw });
    } else if (law.output) {
      if (round !== 1 && round !== 2) refuse("the round must be 1 or 2");
      kept = await this.#round(this.#memoryOf(user), [this.parameters, user, question], law, code, round);
    } else {
      if (round !== undefined) refuse("this question has one round");
      if (user === undefined) kept = withId(draw());
      else {
        const [memory, key] = [this.#memoryOf(user), [this.parameters, user, question, "report"]];
        kept = (await memory.recall(key)) ?? (await memory.keep(key, withId(draw())));
      }
    }
    sized(kept, ID_BYTES + law.size);
    const id = hex(kept.subarray(0, ID_BYTES));
    const report = base64(kept.subarray(ID_BYTES));
    return JSON.stringify({
      parameters: this.parameters,
      question,
      id,
      ...(round === undefined ? {} : { round }),
      report,
      check: await lineCheck([this.parameters, round ?? "", report, id, question]),
    });
  }

  /** Which round, or value, of a question that is asked again a person reports. */
  ownPart(question, user) {
    return ownPart(this.law(question).rounds, [this.parameters, question, user]);
  }

  async #again(memory, question, law, { user, round, changed, draw }) {
    const { count, scheme } = law.rounds;
    if (!Number.isInteger(round) || round < 1 || round > count) refuse(`the round must be from 1 to ${count}`);
    const [own, parts] = [await this.ownPart(question, user), [this.parameters, user, question]];
    if (scheme !== "once") {
      const asked = { round, changed, own, size: law.size, draw, withId };
      return nextValue(memory, parts, law.rounds, asked);
    }
    if (round !== own) refuse(`the round must be ${own}, this person's round`);
    const key = [...parts, "report"];
    return (await memory.recall(key)) ?? (await memory.keep(key, withId(draw())));
  }

  /** A round of two: the die is blind, but with round two's report it would tell the answer. */
  async #round(memory, parts, law, code, round) {
    const [first, second] = [[...parts, "round 1"], [...parts, "round 2"]];
    let report = await memory.recall(second);
    if (report === null) {
      const die = (await memory.recall(first)) ?? (await memory.keep(first, withId(law.draw(code, system))));
      if (die.length !== ID_BYTES + law.size) refuse("the memory is damaged");
      const output = law.output(die.subarray(ID_BYTES), code, round);
      if (round === 1) return joined(die.subarray(0, ID_BYTES), output);
      report = await memory.keep(second, withId(output));
    }
    await memory.forget(first);
    return round === 2 ? report : refuse("round one is over; its report was forgotten");
  }

  #memoryOf(user) {
    if (!this.#memory || typeof user !== "string" || !user) refuse("a user and a memory are needed");
    return this.#memory;
  }
}

function withId(payload) {
  return joined(system(ID_BYTES), payload);
}

/** By which the collector notices damage on the way. */
async function lineCheck(fields) {
  return hex((await digest(fields.join("\n"))).subarray(0, 8));
}

function base64(data) {
  return btoa(Array.from(data, (octet) => String.fromCharCode(octet)).join(""));
}

/** The report of a conformance vector; its entropy must be consumed exactly. */
export function replay(client, vector) {
  const law = client.law(vector.question);
  const entropy = Uint8Array.from(vector.entropy.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  let taken = 0;
  const source = (count) => entropy.subarray(taken, (taken += count));
  const code = law.code(vector.answer);
  let report = law.draw(code, source);
  if (taken !== entropy.length) refuse("entropy is left over");
  if (law.output) report = law.output(report, code, vector.round);
  return hex(report);
}

