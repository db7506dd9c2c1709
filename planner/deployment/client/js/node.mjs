#!/usr/bin/env node
// The client's command and memory, for Node 20 or later.
//
//   node node.mjs params.json QUESTION ANSWER     prints one report (a line of JSON)
//   node node.mjs params.json QUESTION --lines    a report for each line of input
//   node node.mjs params.json --vectors FILE      checks the conformance vectors
//   node node.mjs params.json --questions --memory DIRECTORY --user NAME   that this person is asked
//
// ANSWER is JSON, or plain text: an item's name; its number where items have no names;
// ["a", "b"] for an item set, or for a question and its anchor; a number or null; for Sampling
// Privacy a value's name or null.
// Options: --memory DIRECTORY --user NAME remember the report for good; --round NUMBER, --changed.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync } from "node:fs";
import { readFileSync, readdirSync, realpathSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { Client, Refused, replay } from "./client.mjs";
import { refuse } from "./parameter-file.mjs";
import { joined } from "./exact-draws.mjs";

export { Client, Refused };

const CHECK_BYTES = 32;

/** What is kept under each key: a folder of numbered files, of which the last one counts. */
export class Memory {
  constructor(directory) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.directory = directory;
  }

  /** What is kept after a step from what was kept, or null; on disk before it is given. */
  async change(key, step) {
    const text = JSON.stringify(key);
    const folder = join(this.directory, createHash("sha256").update(text).digest("hex"));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    settle(this.directory);
    for (;;) {
      const last = lastIn(folder);
      const before = last ? read(join(folder, `${last}`), text) : null;
      if (before === undefined) continue; // another process went on meanwhile
      const after = step(before);
      const place = last + Number(after !== before);
      if (place > last && !write(join(folder, `${place}`), joined(checksum(text, after), after))) continue;
      const first = lastIn(folder) === place;
      if (place > last) rmSync(join(folder, `${first ? last : place}`), { force: true });
      if (first) return after;
    }
  }
}

/** The largest number of a file; 0 where there is none. */
const lastIn = (folder) => Math.max(0, ...readdirSync(folder).filter((name) => /^[0-9]+$/.test(name)).map(Number));

function read(path, text) {
  let kept;
  try {
    kept = readFileSync(path);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  }
  const [check, content] = [kept.subarray(0, CHECK_BYTES), kept.subarray(CHECK_BYTES)];
  return check.equals(checksum(text, content)) ? content : refuse("the memory is damaged");
}

/** Write a file whole or not at all; false if another process was first. */
function write(path, content) {
  const temporary = `${path}.${randomBytes(4).toString("hex")}`;
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
    linkSync(temporary, path);
    settle(dirname(path));
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    closeSync(file);
    unlinkSync(temporary);
  }
  return true;
}

/** A name in a directory lasts when the directory is written, which Windows does by itself. */
function settle(path) {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  fsyncSync(directory);
  closeSync(directory);
}

const checksum = (text, content) => createHash("sha256").update(text).update(content).digest();

async function main() {
  const [text, lines] = [{ type: "string" }, { type: "boolean" }];
  const options = { vectors: text, memory: text, user: text, round: text, lines, changed: lines, questions: lines };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [file, question, given] = positionals;
  const memory = values.memory === undefined ? null : new Memory(values.memory);
  const client = await Client.open(readFileSync(file), memory);
  if (values.lines) return answerLines(client, question);
  if (values.questions) return console.log(JSON.stringify(await client.questionsOf(values.user)));
  if (values.vectors !== undefined) return checkVectors(client, JSON.parse(readFileSync(values.vectors, "utf8")));
  const round = values.round === undefined ? undefined : Number(values.round);
  const asked = { user: values.user, round, changed: values.changed };
  return console.log(await client.report(question, parsed(given), asked));
}

async function checkVectors(client, { format, parameters, vectors }) {
  if (format !== "ldp-planner-vectors") refuse("these are no conformance vectors");
  if (parameters !== client.parameters) refuse("the vectors are of other parameters");
  for (const [i, vector] of vectors.entries()) {
    const { question, user, own, report, word, asked } = vector;
    if (asked) {
      if (client.askedBy(word).join("\n") !== asked.join("\n")) refuse(`vector ${i} differs`);
      continue;
    }
    const same = own ? (await client.ownPart(question, user)) === own : replay(client, vector) === report;
    if (!same) refuse(`vector ${i} differs`);
  }
  console.log(`${vectors.length} vectors pass`);
}

/** One answer a line in, one report a line out, until the input ends. */
async function answerLines(client, question) {
  for await (const line of createInterface({ input: process.stdin })) {
    const report = await client.report(question, parsed(line));
    if (!process.stdout.write(`${report}\n`)) await once(process.stdout, "drain");
  }
}

/** Plain text is an item's name. */
const parsed = (given) => { try { return JSON.parse(given); } catch { return given; } };

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main().catch((error) => {
    if (!(error instanceof Refused) && !error.code) throw error;
    console.error(`client: ${error.message}`);
    process.exitCode = 1;
  });
}
