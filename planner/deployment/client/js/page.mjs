// The page that people answer: proves its parameters, asks, randomises and keeps, says what will be
// sent, sends, thanks. Answers stay in this page's memory; what is kept and sent is reports.

import { h, questionFields } from "./asking.mjs";
import { Client, Refused } from "./client.mjs";
import { Device, Forgetful } from "./device.mjs";
import { hex } from "./document.mjs";
import { order, system } from "./draws.mjs";

const PATIENCE = 30_000; // milliseconds for a receiver's answer
const read = (id) => document.getElementById(id).textContent;
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const told = JSON.parse(read("told"));
const place = document.getElementById("page");
const say = (key, values = {}) => told.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const written = (value, digits = 12) => value.toLocaleString(told.words.lang, { maximumFractionDigits: digits });
const askOf = (name) => `“${told.questions[name].ask}”`;

/** Put this in the page's place; a heading is where a screen reader goes on. */
function show(...parts) {
  place.replaceChildren(...parts.filter((part) => part !== null));
  const heading = place.querySelector("h2");
  if (heading) heading.tabIndex = -1;
  heading?.focus();
}

const paragraph = (text, className = "") => h("p", { className, dir: "auto" }, text);
const stop = (key, values) => show(h("h2", {}, say("stopped")), paragraph(say(key, values), "wrong"));

class Visit {
  constructor(client, device, user) {
    Object.assign(this, { client, device, user, leftOut: [], notAsked: [] });
  }

  #key(name, round = this.#round(name)) {
    return ["sending", this.client.parameters, name, round ?? 0];
  }

  #round(name) {
    const law = this.client.law(name);
    return law.rounds || law.output ? told.round : undefined;
  }

  /** A line that waits, or was sent; null if this question has no report yet. */
  #entry(name, round) {
    return this.device.change(this.#key(name, round), (kept) => kept);
  }

  /** Whether a person reports now, and whether they have reported another value before. */
  async #turn(name) {
    const { rounds, output } = this.client.law(name);
    if (told.round > (output ? 2 : (rounds?.count ?? Infinity))) return { now: false };
    if (rounds?.scheme === "once") return { now: (await this.client.ownPart(name, this.user)) === told.round };
    let again = false;
    for (let round = 1; rounds && round < told.round; round++) again ||= (await this.#entry(name, round)) !== null;
    return { now: true, again };
  }

  /** Ask what was not asked before; then show what waits, or that all is sent. */
  async ask() {
    const open = [];
    this.entries = new Map();
    this.notAsked = [];
    for (const question of this.client.questions) {
      const { name } = question;
      const entry = await this.#entry(name);
      const { now, again } = await this.#turn(name);
      if (entry !== null) this.entries.set(name, { ...entry, means: [] });
      else if (!now) this.notAsked.push(name);
      else if (!this.leftOut.includes(name)) {
        const asked = { question, told: this.#labelled(question), name: `q${open.length}`, say, written, again };
        open.push({ name, ...questionFields(asked) });
      }
    }
    if (open.length) this.#form(open);
    else this.#review();
  }

  #labelled(question) {
    const { ask, labels } = told.questions[question.name];
    const items = (question.levels ?? []).flatMap((level) => level.items);
    return { ask, labels, answers: items.length === labels?.length ? items : labels?.map((_, k) => k) };
  }

  #form(open) {
    const button = h("button", { type: "submit" }, say("randomise"));
    const parts = [paragraph(say("how")), ...open.map(({ element }) => element), paragraph(say("fixed"), "note")];
    const form = h("form", { noValidate: true }, ...parts, button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answers = open.map((one) => ({ ...one, ...one.read() }));
      const first = answers.find((one) => one.wrong);
      if (first) return first.element.querySelector("input").focus();
      button.disabled = true;
      this.#randomise(answers).catch(failed);
    });
    show(form);
  }

  /** Every answer becomes a report, or stays the one that it was; kept before it is shown. */
  async #randomise(answers) {
    for (const { name, answer, skipped, changed } of answers) {
      if (skipped) this.leftOut.push(name);
      else this.entries.set(name, await this.#reported(name, answer, changed));
    }
    this.#review();
  }

  async #reported(name, answer, changed) {
    const [round, law] = [this.#round(name), this.client.law(name)];
    const before = await this.#entry(name);
    const line = before?.line ?? (await this.client.report(name, answer, { user: this.user, round, changed }));
    const entry = await this.device.change(this.#key(name), (kept) => kept ?? { line, sent: false });
    // What waits of round one must not come with round two.
    if (law.output && round > 1) await this.device.change(this.#key(name, 1), (kept) => kept && { ...kept, sent: true });
    if (before !== null) return { ...entry, means: [say("kept")] };
    return { ...entry, means: this.#meaning(name, law, law.code(answer), bytesOf(JSON.parse(line).report)) };
  }

  /** What this report says of this answer, in sentences. */
  #meaning(name, law, code, report) {
    const found = law.says(code, report, told.round).flatMap(({ element, marked, own, low, high }) => {
      const answer = told.questions[name].labels?.[element];
      const base = [100, 1000, 10_000, 100_000].find((size) => Math.min(own, low) * size >= 1) ?? 1_000_000;
      const count = (chance) => written(chance * base, 0);
      const others = count(low) === count(high) ? count(low) : say("range_of", { low: count(low), high: count(high) });
      const like = say(Array.isArray(code) ? "like_set" : "like", { n: written(base), own: count(own), others });
      return marked === undefined ? [like] : [say(marked ? "names" : "names_not", { answer }), like];
    });
    if (!found.length) return [say("blank")];
    if (law.output) found.push(say("two_rounds"));
    const factor = written(Math.ceil(Math.exp(law.most(code)) * 100 - 1e-9) / 100, 2);
    return [...found, say("odds", { factor }), ...(law.open ? [say("open")] : [])];
  }

  #review(failure = null) {
    const waiting = [...this.entries].filter(([, { sent }]) => !sent);
    if (!waiting.length) return this.#thanks();
    const parts = waiting.map(([name, { line, means }]) =>
      h("section", {}, h("h3", { dir: "auto" }, told.questions[name].ask), ...means.map((text) => paragraph(text)),
        h("details", {}, h("summary", {}, say("report")), h("pre", { tabIndex: 0 }, line))));
    const send = h("button", { type: "button" }, say(failure ? "again" : told.send ? "send" : "save"));
    send.addEventListener("click", () => {
      send.disabled = true;
      this.#send(waiting.map(([name]) => name)).catch((error) => this.#review(error));
    });
    const where = told.send ? say("address", { address: new URL(told.send, location).href }) : say("hand_over");
    const wrong = failure ? paragraph(say("failed", { reason: failure.message }), "wrong") : null;
    show(h("h2", {}, say("review")), ...parts, this.#said(), paragraph(where, "note"), wrong, send);
  }

  /** One line a request, in a random order; of two tabs one after the other. */
  async #send(names) {
    const all = async () => {
      const lines = [];
      for (const k of order(system, names.length, names.length)) {
        const entry = await this.#entry(names[k]);
        if (!entry.sent && told.send && !told.preview) await post(entry.line);
        lines.push(entry.line);
        if (told.send) await this.#sent(names[k]);
      }
      if (told.send) return;
      save(lines);
      for (const name of names) await this.#sent(name);
    };
    await (navigator.locks ? navigator.locks.request(`ldp-planner ${this.client.parameters}`, all) : all());
    this.#thanks();
  }

  async #sent(name) {
    this.entries.set(name, await this.device.change(this.#key(name), (kept) => ({ ...kept, sent: true })));
  }

  #said() {
    const list = (key, names) => (names.length ? paragraph(say(key, { questions: names.map(askOf).join(", ") }), "note") : "");
    return h("div", {}, list("left_out", this.leftOut), list("not_asked", this.notAsked));
  }

  #thanks() {
    const lines = [...this.entries].map(([name, { line }]) => [name, line]);
    const rows = lines.map(([name, line]) => h("li", { dir: "auto" }, `${told.questions[name].ask} `, h("code", {}, JSON.parse(line).id)));
    const text = rows.length ? (told.thanks ?? say(told.send ? "sent" : "saved")) : say("nothing");
    const receipts = rows.length ? [h("h3", {}, say("receipts")), h("ul", {}, ...rows), paragraph(say("receipt"), "note")] : [];
    const again = rows.length && !told.send ? h("button", { type: "button" }, say("save_again")) : null;
    again?.addEventListener("click", () => save(lines.map(([, line]) => line)));
    const said = text.split(/\n\s*\n/).map((part) => paragraph(part));
    show(h("h2", {}, say("thanks")), ...said, again, this.#said(), ...receipts, paragraph(say("once"), "note"));
  }
}

/** Accepted if the receiver says so and names the report. */
async function post(line) {
  const settings = { method: "POST", body: `${line}\n`, headers: { "content-type": "text/plain" } };
  const apart = { credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" };
  const response = await fetch(told.send, { ...settings, ...apart, signal: AbortSignal.timeout(PATIENCE) });
  const { value } = (await response.body?.getReader().read()) ?? {};
  const answer = new TextDecoder().decode(value);
  if (response.status !== 200) throw new Error(`${response.status} ${answer.slice(0, 200)}`);
  if (!answer.includes(JSON.parse(line).id)) throw new Error(say("nonsense"));
}

function save(lines) {
  if (told.preview) return;
  const file = new Blob(lines.map((line) => `${line}\n`), { type: "application/jsonl" });
  h("a", { href: URL.createObjectURL(file), download: "reports.jsonl" }).click();
}

function failed(error) {
  console.error(error);
  stop("not_kept", { reason: error.message });
}

async function start() {
  if (!globalThis.isSecureContext || !globalThis.crypto?.subtle) return stop("insecure");
  let device, client;
  try {
    device = told.preview ? new Forgetful() : await Device.open();
  } catch {
    return stop("no_memory");
  }
  try {
    client = await Client.open(bytesOf(read("parameters")), device);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return stop("damaged", { reason: error.message });
  }
  document.getElementById("hash").textContent = client.parameters;
  const user = await device.change(["person", client.parameters], (kept) => kept ?? hex(system(16)));
  return new Visit(client, device, user).ask();
}

start().catch(failed);
