// A question as a person meets it: a group of plain controls, and "read" for what they say: an
// answer, that it is skipped, or what is wrong. The survey's texts are put in as text, not markup.

import { largestSet } from "./ways-of-asking.mjs";

const MOST_AT_A_GLANCE = 12; // more answers than that are searched

/** An element; keys with a hyphen are attributes, others properties. */
export function h(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  const put = ([key, value]) => (key.includes("-") ? element.setAttribute(key, value) : (element[key] = value));
  Object.entries(settings).forEach(put);
  element.append(...children);
  return element;
}

// Chromium asks the form whether it may keep what is entered, Firefox each field. Words that are
// typed go to no spelling service either.
const FORGOTTEN = { autocomplete: "off", spellcheck: false };

function choice(type, name, [says, text]) {
  const input = h("input", { type, name, ...FORGOTTEN });
  return { says, input, label: h("label", { className: "choice" }, input, h("span", { dir: "auto" }, text)) };
}

/** Rows of what is said and its text; the extra ones exclude all others. */
function choices({ name, say }, rows, extra, { type = "radio", className = "" } = {}) {
  const [made, last] = [rows, extra].map((some) => some.map((row) => choice(type, name, row)));
  const list = h("div", { className: `choices ${className}` }, ...made.map(({ label }) => label));
  for (const one of type === "checkbox" ? [...made, ...last] : []) {
    const others = made.includes(one) ? last : [...made, ...last].filter((other) => other !== one);
    one.input.addEventListener("change", () => others.forEach(({ input }) => (input.checked = false)));
  }
  const long = made.length > MOST_AT_A_GLANCE;
  if (long) list.classList.add("long");
  const read = () => {
    const [alone] = last.filter(({ input }) => input.checked);
    const chosen = made.filter(({ input }) => input.checked).map(({ says }) => says);
    if (alone) return alone.says;
    if (!chosen.length) return { wrong: say("choose") };
    return type === "radio" ? chosen[0] : { answer: chosen.map(({ answer }) => answer) };
  };
  return { parts: [...(long ? [searching(made, say)] : []), list, ...last.map(({ label }) => label)], read };
}

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

function searching(made, say) {
  const found = h("output", { className: "note" });
  const field = h("input", { type: "search", ...FORGOTTEN });
  const known = made.map(({ label }) => plain(label.textContent));
  const show = () => {
    const fits = known.map((text) => text.includes(plain(field.value.trim())));
    made.forEach(({ input, label }, k) => (label.hidden = !fits[k] && !input.checked));
    found.textContent = say("found", { count: fits.filter(Boolean).length, all: made.length });
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  show();
  return h("div", { className: "search" }, h("label", {}, say("search"), field), found);
}

/** Answers go by their names, or by their numbers where not all have one. */
function rowsOf({ question, labels }) {
  const items = question.levels.flatMap((level) => level.items);
  return labels.map((text, k) => [{ answer: items.length === labels.length ? items[k] : k }, text]);
}

function one(asked, rows = rowsOf(asked), className = "") {
  const { question, say } = asked;
  const none = question.asked === "item-or-none" && !question.everyone_has_value;
  const extra = [...(none ? [[{ answer: null }, say("none")]] : []), [{ skipped: true }, say("skip")]];
  return { ...choices(asked, rows, extra, { className }), hint: say("skip_seen") };
}

/** Parts of one answer, each asked by itself; who leaves out one of them leaves out all. */
function joined({ of, joint, question, name, say }) {
  const made = of.map(({ items, labels }, k) =>
    one({ question, say, name: `${name}-${k}` }, items.map((answer, i) => [{ answer }, labels[i]])),
  );
  const read = () => {
    const found = made.map((part) => part.read());
    const other = found.find(({ skipped }) => skipped) ?? found.find(({ wrong }) => wrong);
    return other ?? { answer: found.map(({ answer }) => answer).join(joint) };
  };
  const group = ({ parts }, k) => h("fieldset", { className: "inner" }, h("legend", { dir: "auto" }, of[k].ask), ...parts);
  return { ...made[0], parts: made.map(group), read };
}

const placed = (rows, order) => order.map((k) => rows[k]);

/** Steps of a scale; a number that is put into one of its cells is asked as a number. */
function scale(asked) {
  const { question, say } = asked;
  if (question.lower === undefined) return one(asked, placed(rowsOf(asked), question.order), "scale");
  return question.no_answer ? number(asked) : number(asked, { skipped: true }, say("skip_seen"));
}

function several(asked) {
  const { question, say } = asked;
  const extra = [[{ answer: [] }, say("none")], [{ skipped: true }, say("skip")]];
  const rows = rowsOf(asked);
  const { parts, read } = choices(asked, rows, extra, { type: "checkbox" });
  const most = largestSet(question);
  const limited = most < rows.length;
  const atMost = say("at_most", { most });
  const readSome = () => {
    const found = read();
    return limited && found.answer?.length > most ? { wrong: atMost } : found;
  };
  const note = limited ? `${say("several")} ${atMost}` : say("several");
  return { parts: [h("p", { className: "note" }, note), ...parts], read: readSome, hint: say("skip_seen") };
}

function number(asked, without = { answer: null }, hint = asked.say("skip_hidden")) {
  const { question, name, say, written } = asked;
  const { lower, upper, yes_no: yesNo } = question;
  const none = [without, say("skip")];
  const both = [[{ answer: upper }, say("yes")], [{ answer: lower }, say("no")]];
  if (yesNo) return { ...choices(asked, both, [none]), hint };
  const range = { lower: written(lower), upper: written(upper) };
  const note = h("p", { className: "note", id: `${name}-range` }, say("range", range));
  const described = { "aria-describedby": note.id, "aria-label": say("number") };
  const field = h("input", { inputMode: "decimal", className: "number", ...FORGOTTEN, ...described });
  const { input: skip, label } = choice("checkbox", name, none);
  skip.addEventListener("change", () => (field.disabled = skip.checked));
  const read = () => {
    const text = field.value.trim().replace(",", ".");
    const value = /^[-+]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
    if (skip.checked) return without;
    return value >= lower && value <= upper ? { answer: value } : { wrong: say("enter", range) };
  };
  return { parts: [note, field, label], read, hint };
}

/** By the way of asking: { parts, read, hint }. */
const KINDS = { item: one, "item-or-none": one, ordered: scale, number, "one-of-set": several, "whole-set": several };

/** The question in a group, { element, read }; asked "again", also whether the answer changed. */
export function questionFields(asked) {
  const { question, ask, name, say, again } = asked;
  const { parts, read, hint } = (asked.of ? joined : KINDS[question.asked])(asked);
  const wrong = h("p", { className: "wrong", id: `${name}-wrong` });
  const group = h("fieldset", { "aria-describedby": wrong.id }, h("legend", { dir: "auto" }, ask), wrong);
  const rows = [[{ changed: true }, say("yes")], [{ changed: false }, say("no")]];
  const change = again ? choices({ name: `${name}-changed`, say }, rows, []) : { read: () => ({}) };
  if (again) group.append(h("fieldset", { className: "inner" }, h("legend", {}, say("changed")), ...change.parts));
  group.append(...parts, h("p", { className: "note" }, hint));
  const readAll = () => {
    const found = { ...read(), ...change.read() };
    wrong.textContent = found.wrong ?? "";
    return found;
  };
  return { element: h("div", { className: "question" }, group), read: readAll };
}
