// The client in JavaScript (Node 20 or later, nothing else): the same parameter file, the same
// exact draws, the same conformance vectors as the Python client.
//
//   node examples/client.mjs params.json QUESTION ANSWER     prints one report (a line of JSON)
//   node examples/client.mjs params.json QUESTION --lines    a report for each line of input
//   node examples/client.mjs params.json --vectors FILE      checks the conformance vectors
//
// ANSWER is JSON, or plain text: an item's name; its number where items have no names;
// ["a", "b"] for an item set; a number or null; for Sampling Privacy a value's name or null.
// Options: --memory DIRECTORY --user NAME remember the report for good; --round NUMBER, --changed.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync } from "node:fs";
import { readFileSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { MAX_CELLS, Refused, parseDocument, refuse } from "./client/document.mjs";
import { lawOf } from "./client/laws.mjs";
import { nextValue, ownPart } from "./client/rounds.mjs";
import { checkShape } from "./client/shape.mjs";

const ID_BYTES = 8;
const SCHEMA = JSON.parse(readFileSync(new URL("./client/schema.json", import.meta.url), "utf8"));
const CHECK_BYTES = 32;

/** One report per person and question, each in a file that is written whole or not at all. */
export class Memory {
  constructor(directory) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.directory = directory;
  }

  /** What is remembered under a key, or null. */
  recall(key) {
    let kept;
    try {
      kept = readFileSync(this.#path(key));
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      return null;
    }
    const content = kept.subarray(CHECK_BYTES);
    if (!kept.subarray(0, CHECK_BYTES).equals(checksum(key, content))) refuse("the memory is damaged");
    return content;
  }

  /** Remember content once and for all; give what is remembered, which may be another's. */
  keep(key, content) {
    const path = this.#path(key);
    const temporary = `${path}.${randomBytes(4).toString("hex")}`;
    const file = openSync(temporary, "wx", 0o600);
    try {
      writeSync(file, Buffer.concat([checksum(key, content), content]));
      fsyncSync(file);
      linkSync(temporary, path); // fails if another process was first
      this.#settle();
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    } finally {
      closeSync(file);
      unlinkSync(temporary);
    }
    return this.recall(key);
  }

  forget(key) {
    rmSync(this.#path(key), { force: true });
  }

  /** A name in a directory lasts when the directory is written, which Windows does by itself. */
  #settle() {
    if (process.platform === "win32") return;
    const directory = openSync(this.directory, "r");
    fsyncSync(directory);
    closeSync(directory);
  }

  #path(key) {
    return join(this.directory, createHash("sha256").update(JSON.stringify(key)).digest("hex"));
  }
}

function checksum(key, content) {
  return createHash("sha256").update(JSON.stringify(key)).update(content).digest();
}

export class Client {
  #laws = new Map();
  #memory;

  /** data: the bytes of a parameter file; its promises are proven here, before any report. */
  constructor(data, memory = null) {
    const { document, hash } = parseDocument(data);
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
  report(question, answer, { user, round, changed = false } = {}) {
    const law = this.law(question);
    const code = law.code(answer);
    const draw = () => law.draw(code, randomBytes);
    const sized = (kept, size) => (kept.length === size ? kept : refuse("the memory is damaged"));
    let kept;
    if (law.rounds) {
      const memory = this.#memoryOf(user);
      kept = this.#again(memory, question, law, { user, round, changed, draw });
    } else if (law.output) {
      if (round !== 1 && round !== 2) refuse("the round must be 1 or 2");
      kept = this.#round(this.#memoryOf(user), [this.parameters, user, question], law, code, round);
    } else {
      if (round !== undefined) refuse("this question has one round");
      if (user === undefined) kept = withId(draw());
      else {
        const [memory, key] = [this.#memoryOf(user), [this.parameters, user, question, "report"]];
        kept = memory.recall(key) ?? memory.keep(key, withId(draw()));
      }
    }
    sized(kept, ID_BYTES + law.size);
    const id = kept.subarray(0, ID_BYTES).toString("hex");
    const report = kept.subarray(ID_BYTES).toString("base64");
    return JSON.stringify({
      parameters: this.parameters,
      question,
      id,
      ...(round === undefined ? {} : { round }),
      report,
      check: lineCheck([this.parameters, round ?? "", report, id, question]),
    });
  }

  /** Which round, or value, of a question that is asked again a person reports. */
  ownPart(question, user) {
    return ownPart(this.law(question).rounds, [this.parameters, question, user]);
  }

  #again(memory, question, law, { user, round, changed, draw }) {
    const { count, scheme } = law.rounds;
    if (!Number.isInteger(round) || round < 1 || round > count) refuse(`the round must be from 1 to ${count}`);
    const [own, parts] = [this.ownPart(question, user), [this.parameters, user, question]];
    if (scheme !== "once") {
      const asked = { round, changed, own, size: law.size, draw, withId };
      return nextValue(memory, parts, law.rounds, asked);
    }
    if (round !== own) refuse(`the round must be ${own}, this person's round`);
    return memory.recall([...parts, "report"]) ?? memory.keep([...parts, "report"], withId(draw()));
  }

  /** A round of two: the die is blind, but with round two's report it would tell the answer. */
  #round(memory, parts, law, code, round) {
    const [first, second] = [[...parts, "round 1"], [...parts, "round 2"]];
    let report = memory.recall(second);
    if (report === null) {
      const die = memory.recall(first) ?? memory.keep(first, withId(law.draw(code, randomBytes)));
      if (die.length !== ID_BYTES + law.size) refuse("the memory is damaged");
      const output = law.output(die.subarray(ID_BYTES), code, round);
      if (round === 1) return Buffer.concat([die.subarray(0, ID_BYTES), output]);
      report = memory.keep(second, withId(output));
    }
    memory.forget(first);
    return round === 2 ? report : refuse("round one is over; its report was forgotten");
  }

  #memoryOf(user) {
    if (!this.#memory || typeof user !== "string" || !user) refuse("a user and a memory are needed");
    return this.#memory;
  }
}

function withId(payload) {
  return Buffer.concat([randomBytes(ID_BYTES), payload]);
}

/** By which the collector notices damage on the way. */
function lineCheck(fields) {
  return createHash("sha256").update(fields.join("\n"), "utf8").digest("hex").slice(0, 16);
}

/** The report of a conformance vector; its entropy must be consumed exactly. */
export function replay(client, vector) {
  const law = client.law(vector.question);
  const entropy = Buffer.from(vector.entropy, "hex");
  let taken = 0;
  const source = (count) => entropy.subarray(taken, (taken += count));
  const code = law.code(vector.answer);
  let report = law.draw(code, source);
  if (taken !== entropy.length) refuse("entropy is left over");
  if (law.output) report = law.output(report, code, vector.round);
  return report.toString("hex");
}

function main() {
  const text = { type: "string" };
  const lines = { type: "boolean" };
  const options = { vectors: text, memory: text, user: text, round: text, lines, changed: lines };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [file, question, given] = positionals;
  const memory = values.memory === undefined ? null : new Memory(values.memory);
  const client = new Client(readFileSync(file), memory);
  if (values.lines) {
    answerLines(client, question);
    return;
  }
  if (values.vectors === undefined) {
    const round = values.round === undefined ? undefined : Number(values.round);
    console.log(client.report(question, parsed(given), { user: values.user, round, changed: values.changed }));
    return;
  }
  const { format, parameters, vectors } = JSON.parse(readFileSync(values.vectors, "utf8"));
  if (format !== "ldp-planner-vectors") refuse("these are no conformance vectors");
  if (parameters !== client.parameters) refuse("the vectors are of other parameters");
  for (const [i, vector] of vectors.entries()) {
    const { question, user, own, report } = vector;
    const same = own ? client.ownPart(question, user) === own : replay(client, vector) === report;
    if (!same) refuse(`vector ${i} differs`);
  }
  console.log(`${vectors.length} vectors pass`);
}

/** One answer a line in, one report a line out, until the input ends. */
async function answerLines(client, question) {
  for await (const line of createInterface({ input: process.stdin })) {
    const report = client.report(question, parsed(line));
    if (!process.stdout.write(`${report}\n`)) await once(process.stdout, "drain");
  }
}

/** Plain text is an item's name. */
function parsed(given) {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main();
  } catch (error) {
    if (!(error instanceof Refused) && !error.code) throw error;
    console.error(`client: ${error.message}`);
    process.exitCode = 1;
  }
}
