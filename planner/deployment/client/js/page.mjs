// The page that people answer: proves its parameters, asks, randomises and keeps, says what will be
// sent, sends, thanks. Answers stay in this page's memory; what is kept and sent is reports.

import { h, questionFields } from "./question-fields.mjs";
import { Client } from "./client.mjs";
import { Device, Forgetful } from "./device.mjs";
import { hex } from "./parameter-file.mjs";
import { order, system } from "./exact-draws.mjs";

const PATIENCE = 30_000; // milliseconds for a receiver's answer
const textOf = (id) => document.getElementById(id).textContent;
const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
const idOf = (line) => JSON.parse(line).id;

const told = JSON.parse(textOf("told"));
const say = (key, values = {}) => told.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const written = (value, digits = 12) => value.toLocaleString(told.words.lang, { maximumFractionDigits: digits });
const askOf = (name) => told.questions[name].ask;

/** Put this in the page's place; a heading is where a screen reader goes on. */
function show(...parts) {
  document.getElementById("page").replaceChildren(...parts);
  document.querySelector("h2")?.focus();
}

const heading = (key) => h("h2", { tabIndex: -1 }, say(key));
const paragraph = (text, className = "") => h("p", { className, dir: "auto" }, text);
const stop = (key, values) => show(heading("stopped"), paragraph(say(key, values), "wrong"));

function button(key, act) {
  const made = h("button", { type: "button" }, say(key));
  made.addEventListener("click", act);
  return made;
}

class Visit {
  #entries = new Map(); // of questions with a report: its line, whether it was sent, what its parts mean
  #leftOut = [];
  #notAsked = [];

  constructor(client, device, user) {
    Object.assign(this, { client, device, user });
  }

  /** What is asked for one report: the question, and its anchor if it has one. */
  #asked(name) {
    const { anchor } = this.client.law(name);
    return anchor ? [name, anchor.name] : [name];
  }

  #round(name) {
    const { rounds, output } = this.client.law(name);
    return rounds || output ? told.round : undefined;
  }

  /** What is kept of a question's report, { line, sent }, after a step; null if there is none. */
  #kept(name, step = (kept) => kept, round = this.#round(name)) {
    return this.device.change(["sending", this.client.parameters, name, round ?? 0], step);
  }

  /** Whether a person reports now, and whether they have reported another value before. */
  async #turn(name) {
    const { rounds, output } = this.client.law(name);
    if (told.round > (output ? 2 : (rounds?.count ?? Infinity))) return { now: false };
    if (output && told.round === 1 && (await this.#kept(name, undefined, 2))) return { now: false };
    if (rounds?.scheme === "once") return { now: (await this.client.ownPart(name, this.user)) === told.round };
    const earlier = Array.from({ length: rounds ? told.round - 1 : 0 }, (_, k) => this.#kept(name, undefined, k + 1));
    return { now: true, again: (await Promise.all(earlier)).some((kept) => kept !== null) };
  }

  /** Ask what was not asked before; then show what waits, or that all is sent. */
  async ask() {
    const open = [];
    const theirs = await this.client.questionsOf(this.user);
    const askedOf = this.client.questions.filter(({ name }) => theirs.includes(name));
    for (const question of askedOf) {
      const [kept, { now, again }] = [await this.#kept(question.name), await this.#turn(question.name)];
      const parts = kept === null && now ? this.#asked(question.name) : [];
      for (const name of parts) {
        const asked = { question, ...told.questions[name], name: `q${open.length}`, say, written, again };
        open.push({ name, ...questionFields(asked) });
      }
      if (kept !== null) this.#entries.set(question.name, kept);
      else if (!now) this.#notAsked.push(question.name);
    }
    const fields = (told.shuffled ? shuffled(open) : open).map(({ element }) => element);
    if (!open.length) return this.#review();
    const submit = h("button", { type: "submit" }, say("randomise"));
    const all = this.client.questions.length;
    const drawn = theirs.length < all ? [paragraph(say("drawn", { count: theirs.length, all }))] : [];
    const parts = [paragraph(say("how")), ...drawn, ...fields, paragraph(say("fixed"), "note")];
    // Without autocomplete="off" browsers write what is ticked to disk, to restore it after a crash.
    const form = h("form", { noValidate: true, autocomplete: "off" }, ...parts, submit);
    // A page that is left may stay in memory, ready for "back": its answers go at once.
    window.addEventListener("pagehide", () => form.reset());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answers = open.map((one) => ({ ...one, ...one.read() }));
      const wrong = answers.find((one) => one.wrong);
      if (wrong) return wrong.element.querySelector("input").focus();
      submit.disabled = true;
      this.#randomise(answers).catch(failed);
    });
    show(form);
  }

  /** Every answer becomes a report, or the report stays that there was; kept before it is shown. */
  async #randomise(answers) {
    for (const { name, anchor } of this.client.questions) {
      const parts = this.#asked(name);
      const given = answers.filter((one) => parts.includes(one.name));
      const [answer, ofAnchor] = parts.map((part) => given.find((one) => one.name === part)?.answer);
      if (!given.length) continue; // it is not asked now
      // A report has both: who leaves out one of them leaves out both.
      if (given.some(({ skipped }) => skipped)) this.#leftOut.push(...parts);
      else this.#entries.set(name, await this.#reported(name, anchor ? [answer, ofAnchor] : answer, given[0].changed));
    }
    this.#review();
  }

  async #reported(name, answer, changed) {
    const [round, law, parts] = [this.#round(name), this.client.law(name), this.#asked(name)];
    const line = await this.client.report(name, answer, { user: this.user, round, changed });
    const made = { line, sent: false };
    const kept = await this.#kept(name, (known) => known ?? made);
    if (kept !== made) return { ...kept, means: parts.map(() => [say("kept")]) };
    if (law.output && round === 2) await this.#kept(name, () => undefined, 1); // both would tell the answer
    const report = bytesOf(JSON.parse(line).report);
    const codes = law.anchor ? law.code(answer) : [law.code(answer)];
    const ofPart = (k) => report.slice((k * report.length) / parts.length, ((k + 1) * report.length) / parts.length);
    return { ...kept, means: parts.map((part, k) => this.#meaning(part, law, codes[k], ofPart(k))) };
  }

  /** What this report, or part of one, says of this answer, in sentences. */
  #meaning(name, law, code, report) {
    const found = law.says(code, report, told.round).flatMap(({ element, marked, own, low, high }) => {
      const answer = told.questions[name].labels?.[element];
      const n = [100, 1000, 10_000, 100_000].find((size) => Math.min(own, low) * size >= 1) ?? 1_000_000;
      const [at, from, to] = [own, low, high].map((chance) => written(chance * n, 0));
      const others = from === to ? from : say("range_of", { low: from, high: to });
      const like = say(Array.isArray(code) ? "like_set" : "like", { n: written(n), own: at, others });
      return marked === undefined ? [like] : [say(marked ? "names" : "names_not", { answer }), like];
    });
    if (!found.length) return [say("blank")];
    const [up, down = up] = law.most(code).map((most) => written(Math.ceil(Math.exp(most) * 100 - 1e-9) / 100, 2));
    const odds = up === down ? say("odds", { factor: up }) : say("odds_apart", { up, down });
    const also = [...(law.open ? ["open"] : []), ...(law.output ? ["two_rounds"] : [])];
    return [...found, odds, ...also.map((key) => say(key))];
  }

  #review(failure) {
    const waiting = [...this.#entries].filter(([, { sent }]) => !sent);
    if (!waiting.length) return this.#thanks();
    const parts = waiting.map(([name, { line, means = [] }]) => {
      const itself = h("details", {}, h("summary", {}, say("report")), h("pre", { tabIndex: 0 }, line));
      const ofPart = (part, k) => [
        h("h3", { dir: "auto" }, askOf(part)),
        ...(means[k] ?? []).map((text) => paragraph(text)),
      ];
      return h("section", {}, ...this.#asked(name).flatMap(ofPart), itself);
    });
    const where = told.send ? say("address", { address: new URL(told.send, document.baseURI).href }) : say("hand_over");
    const wrong = failure ? [paragraph(say("failed", { reason: failure.message }), "wrong")] : [];
    const send = button(failure ? "again" : told.send ? "send" : "save", () => {
      send.disabled = true;
      this.#send(waiting.map(([name]) => name)).catch((error) => this.#review(error));
    });
    show(heading("review"), ...wrong, ...parts, ...this.#said(), paragraph(where, "note"), send);
  }

  /** One line a request, in a random order; of two tabs one after the other. */
  async #send(names) {
    const all = async () => {
      if (!told.send) save([...this.#entries.values()]);
      for (const k of order(system, names.length, names.length)) {
        const { line, sent } = await this.#kept(names[k]);
        if (!sent && told.send && !told.preview) await post(line);
        this.#entries.set(names[k], await this.#kept(names[k], (kept) => ({ ...kept, sent: true })));
      }
    };
    await (navigator.locks ? navigator.locks.request(`ldp-planner ${this.client.parameters}`, all) : all());
    this.#thanks();
  }

  #said() {
    const lists = [["left_out", this.#leftOut], ["not_asked", this.#notAsked]].filter(([, names]) => names.length);
    return lists.map(([key, names]) => paragraph(say(key, { questions: names.map(askOf).join("; ") }), "note"));
  }

  #thanks() {
    const rows = [...this.#entries].map(([name, { line }]) =>
      h("li", { dir: "auto" }, `${this.#asked(name).map(askOf).join("; ")} `, h("code", {}, idOf(line))),
    );
    if (!rows.length) return show(heading("thanks"), paragraph(say("nothing")), ...this.#said());
    const text = told.thanks ?? say(told.send ? "sent" : "saved");
    const again = told.send ? [] : [button("save_again", () => save([...this.#entries.values()]))];
    const receipts = [h("h3", {}, say("receipts")), h("ul", {}, ...rows), paragraph(say("receipt"), "note")];
    const said = text.split(/\n\s*\n/).map((part) => paragraph(part));
    show(heading("thanks"), ...said, ...again, ...this.#said(), ...receipts, paragraph(say("once"), "note"));
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
  if (!answer.includes(idOf(line))) throw new Error(say("nonsense"));
}

/** The same in a random order (Fisher and Yates): an anchor must not stand out by its place. */
function shuffled(list) {
  const order = [...list];
  for (let last = order.length - 1; last > 0; last--) {
    const place = crypto.getRandomValues(new Uint32Array(1))[0] % (last + 1);
    [order[last], order[place]] = [order[place], order[last]];
  }
  return order;
}

function save(entries) {
  if (told.preview) return;
  const file = new Blob(entries.map(({ line }) => `${line}\n`), { type: "application/jsonl" });
  h("a", { href: URL.createObjectURL(file), download: "reports.jsonl" }).click();
}

const failed = (error) => stop("not_kept", { reason: error.message });

async function start() {
  if (!globalThis.isSecureContext || !globalThis.crypto?.subtle) return stop("insecure");
  const device = told.preview ? new Forgetful() : await Device.open().catch(() => null);
  if (device === null) return stop("no_memory");
  const proven = async () => Client.open(bytesOf(textOf("parameters")), device);
  const client = await proven().catch(({ message }) => stop("damaged", { reason: message }));
  if (client === undefined) return undefined;
  document.getElementById("hash").textContent = client.parameters;
  const user = await device.change(["person", client.parameters], (kept) => kept ?? hex(system(16)));
  return new Visit(client, device, user).ask();
}

start().catch(failed);
