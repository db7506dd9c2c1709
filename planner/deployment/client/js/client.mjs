// The client in JavaScript, for browsers and Node: the same parameter file, the same exact draws,
// the same conformance vectors as the Python client. It uses what both have: crypto, typed arrays.

import { MAX_CELLS, checkShape, digest, hex, parseDocument, refuse } from "./parameter-file.mjs";
import { drawingOf, system, words } from "./exact-draws.mjs";
import { lawOf } from "./question-law.mjs";
import { ID_BYTES, checkRound, drawn, ownPart, stepOf } from "./memory-steps.mjs";
import SCHEMA from "./schema.json" with { type: "json" };

export { Refused } from "./parameter-file.mjs";

export class Client {
  #laws = new Map();
  #memory;
  #drawing;

  /** data: the bytes of a parameter file; its promises are proven here, before any report. */
  static async open(data, memory = null) {
    return new Client(await parseDocument(data), memory);
  }

  constructor({ document, hash }, memory) {
    checkShape(document, SCHEMA);
    [this.parameters, this.questions] = [hash, document.questions];
    this.#memory = memory;
    this.#drawing = drawingOf(document);
    let cells = 0;
    const names = new Set();
    for (const question of document.questions) {
      const named = [question.name, ...(question.anchor ? [question.anchor.name] : [])];
      for (const name of named) {
        if (names.has(name)) refuse("a question's name appears twice");
        names.add(name);
      }
      const law = lawOf(question);
      cells += law.cells;
      if (cells > MAX_CELLS) refuse("all questions together have too many items");
      this.#laws.set(question.name, law);
    }
  }

  law(question) {
    return this.#laws.get(question) ?? refuse(`there is no question ${question}`);
  }

  /**
   * One answer in, one line of a report file out; the answer is checked before any draw. Of a
   * question with an anchor the answer is a list of two, to the question and to its anchor.
   */
  async report(question, answer, { user, round, changed = false } = {}) {
    const law = this.law(question);
    const code = law.code(answer);
    checkRound(law, user, round, changed);
    if (this.#drawing && user === undefined) refuse("a user and a memory are needed: their questions are drawn once");
    if (this.#drawing && !(await this.questionsOf(user)).includes(question)) {
      refuse(`this person is not asked ${question}`);
    }
    if (user === undefined) return this.#line(question, law, drawn(law, code));
    if (!this.#memory || typeof user !== "string" || !user) refuse("a user and a memory are needed");
    const own = law.rounds && (await this.ownPart(question, user));
    const { step, released } = stepOf(law, code, { round, changed, own });
    const kept = await this.#memory.change([this.parameters, user, question], step);
    return this.#line(question, law, released(kept), round);
  }

  /** Names of the questions that a person is asked: all, or those drawn for them, once. */
  async questionsOf(user) {
    if (!this.#drawing) return this.questions.map(({ name }) => name);
    if (!this.#memory || typeof user !== "string" || !user) refuse("a user and a memory are needed");
    const kept = await this.#memory.change([this.parameters, user, ""], (known) => known ?? system(4));
    if (kept.length !== 4) refuse("the memory is damaged");
    return this.#drawing(words(() => kept, 1)[0]);
  }

  /** The questions that are asked by a word of 32 bits, of a conformance vector. */
  askedBy(word) {
    return this.#drawing ? this.#drawing(word) : refuse("everybody is asked all questions");
  }

  /** Which round, or value, of a question that is asked again a person reports. */
  ownPart(question, user) {
    return ownPart(this.law(question).rounds, [this.parameters, question, user]);
  }

  async #line(question, law, released, round) {
    if (released.length !== ID_BYTES + law.size) refuse("the memory is damaged");
    const [id, payload] = [hex(released.subarray(0, ID_BYTES)), base64(released.subarray(ID_BYTES))];
    const fields = [this.parameters, round ?? "", payload, id, question];
    const check = hex((await digest(fields.join("\n"))).subarray(0, 8)); // betrays damage on the way
    const number = round === undefined ? {} : { round };
    return JSON.stringify({ parameters: this.parameters, question, id, ...number, report: payload, check });
  }
}

const base64 = (data) => btoa(Array.from(data, (octet) => String.fromCharCode(octet)).join(""));

/** The report of a conformance vector; its entropy must be consumed exactly. */
export function replay(client, vector) {
  const law = client.law(vector.question);
  const entropy = Uint8Array.from(vector.entropy.match(/../g) ?? [], (digits) => parseInt(digits, 16));
  let taken = 0;
  const source = (count) => entropy.subarray(taken, (taken += count));
  const code = law.code(vector.answer);
  const drawn = law.draw(code, source);
  if (taken !== entropy.length) refuse("entropy is left over");
  return hex(law.output ? law.output(drawn, code, vector.round) : drawn);
}
