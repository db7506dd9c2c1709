// A question as a person meets it: a group of fields, made of plain controls, with "read" for the
// answer. Whatever the survey says is put in as text, never as markup.

const MOST_AT_A_GLANCE = 12; // more answers than that are searched

/** An element; keys with a hyphen are attributes, others properties. */
export function h(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(settings)) {
    if (key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function choice(type, name, value, text) {
  const input = h("input", { type, name, value });
  return { input, label: h("label", { className: "choice" }, input, h("span", { dir: "auto" }, text)) };
}

/** Boxes or buttons in a group; "extra" ones at the end exclude the others. */
function choices(type, { name, labels, extra, say, className = "" }) {
  const made = labels.map((text, k) => choice(type, name, k, text));
  const last = extra.map(([value, text]) => choice(type, name, value, text));
  const list = h("div", { className: `choices ${className}` }, ...made.map(({ label }) => label));
  for (const { input } of type === "checkbox" ? [...made, ...last] : []) {
    const alone = last.some((one) => one.input === input);
    input.addEventListener("change", () => {
      const others = alone ? [...made, ...last] : last;
      if (input.checked) for (const one of others) one.input.checked &&= one.input === input;
    });
  }
  const checked = () => [...made, ...last].filter(({ input }) => input.checked).map(({ input }) => input.value);
  const search = labels.length > MOST_AT_A_GLANCE ? [searching(made, say)] : [];
  if (search.length) list.classList.add("long");
  return { parts: [...search, list, ...last.map(({ label }) => label)], checked };
}

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

function searching(made, say) {
  const found = h("output", { className: "note" });
  const field = h("input", { type: "search", autocomplete: "off" });
  const known = made.map(({ label }) => plain(label.textContent));
  const show = () => {
    const wanted = plain(field.value.trim());
    let count = 0;
    made.forEach(({ input, label }, k) => {
      const fits = known[k].includes(wanted);
      count += fits;
      label.hidden = !fits && !input.checked;
    });
    found.textContent = say("found", { count, all: made.length });
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  show();
  return h("div", { className: "search" }, h("label", {}, say("search"), field), found);
}

/** One answer: a skipped one is no answer; "none" has a value of its own. */
function one({ question, told, name, say }, className = "", order = null) {
  const labels = order === null ? told.labels : order.map((k) => told.labels[k]);
  const none = question.asked === "item-or-none" && !question.everyone_has_value;
  const extra = [...(none ? [["none", say("none")]] : []), ["skip", say("skip")]];
  const { parts, checked } = choices("radio", { name, labels, extra, say, className });
  const read = () => {
    const [value] = checked();
    if (value === undefined) return { wrong: say("choose") };
    if (value === "skip") return { skipped: true };
    return { answer: value === "none" ? null : told.answers[order === null ? value : order[value]] };
  };
  return { parts, read, hint: say("skip_seen") };
}

function several({ told, name, say }) {
  const extra = [["none", say("none")], ["skip", say("skip")]];
  const { parts, checked } = choices("checkbox", { name, labels: told.labels, extra, say });
  const read = () => {
    const values = checked();
    if (!values.length) return { wrong: say("choose") };
    if (values[0] === "skip") return { skipped: true };
    return { answer: values[0] === "none" ? [] : values.map((k) => told.answers[k]) };
  };
  return { parts: [h("p", { className: "note" }, say("several")), ...parts], read, hint: say("skip_seen") };
}

function yesNo({ question, name, say }) {
  const [labels, extra] = [[say("yes"), say("no")], [["skip", say("skip")]]];
  const { parts, checked } = choices("radio", { name, labels, extra, say });
  const read = () => {
    const [value] = checked();
    if (value === undefined) return { wrong: say("choose") };
    return { answer: value === "skip" ? null : [question.upper, question.lower][value] };
  };
  return { parts, read, hint: say("skip_hidden") };
}

function number(asked) {
  const { question, name, say, written } = asked;
  if (question.yes_no) return yesNo(asked);
  const range = { lower: written(question.lower), upper: written(question.upper) };
  const hint = h("p", { className: "note", id: `${name}-range` }, say("range", range));
  const described = { "aria-describedby": hint.id, "aria-label": say("number") };
  const field = h("input", { inputMode: "decimal", autocomplete: "off", className: "number", ...described });
  const { input: skip, label } = choice("checkbox", name, "skip", say("skip"));
  skip.addEventListener("change", () => (field.disabled = skip.checked));
  const read = () => {
    if (skip.checked) return { answer: null };
    const text = field.value.trim().replace(",", ".");
    const value = /^[-+]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
    if (value >= question.lower && value <= question.upper) return { answer: value };
    return { wrong: say("enter", range) };
  };
  return { parts: [hint, field, label], read, hint: say("skip_hidden") };
}

const KINDS = {
  item: one,
  "item-or-none": one,
  ordered: (asked) => one(asked, "scale", asked.question.order),
  number,
  "one-of-set": several,
  "whole-set": several,
};

/** { element, read, changed }: the question in a group, and what a person answers. */
export function questionFields(asked) {
  const { question, told, name, say, again } = asked;
  const { parts, read, hint } = KINDS[question.asked](asked);
  const wrong = h("p", { className: "wrong", id: `${name}-wrong` });
  const labels = [say("yes"), say("no")];
  const change = again ? choices("radio", { name: `${name}-changed`, labels, extra: [], say }) : null;
  const group = h("fieldset", { "aria-describedby": wrong.id }, h("legend", { dir: "auto" }, told.ask), wrong);
  if (change) group.append(h("fieldset", { className: "inner" }, h("legend", {}, say("changed")), ...change.parts));
  group.append(...parts, h("p", { className: "note" }, hint));
  return {
    element: h("div", { className: "question" }, group),
    /** The answer or why there is none, which is shown at the question. */
    read() {
      const found = change && !change.checked().length ? { wrong: say("choose") } : read();
      wrong.textContent = found.wrong ?? "";
      return { ...found, changed: change?.checked()[0] === "0" };
    },
  };
}
