// The parameter file: parsing, canonical form, content hash; and its shape by JSON Schema, of which
// schema.json, what "ldp-planner schema" prints, uses these keywords and no others.

export const MAX_CELLS = 2 ** 24; // that a collector counts, of one question and of all together
const VERSION = 5;
const MAX_FILE_BYTES = 64 * 2 ** 20;
const MAX_MARKS = 2 ** 20; // commas, colons and opening brackets: bounds what a file becomes in memory
const MARKS = new Set([...",:[{"].map((mark) => mark.charCodeAt(0)));
const TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;

/** Why nothing is reported. */
export class Refused extends Error {}

export function refuse(reason) {
  throw new Refused(reason);
}

/** Canonical JSON (RFC 8785): JavaScript prints numbers and strings as it demands. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort(); // by UTF-16 code units
    return `{${keys.map((key) => `${text(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  if (typeof value === "number" && !Number.isFinite(value)) refuse("a number is not finite");
  return typeof value === "string" ? text(value) : JSON.stringify(value);
}

function text(value) {
  if (!value.isWellFormed()) refuse("a lone surrogate");
  return JSON.stringify(value);
}

/** SHA-256 of text. */
export const digest = async (told) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(told)));

export const hex = (data) => Array.from(data, (octet) => octet.toString(16).padStart(2, "0")).join("");

export async function contentHash(document) {
  const { hash: _, ...content } = document;
  return hex(await digest(canonical(content)));
}

export async function parseDocument(data) {
  if (data.length > MAX_FILE_BYTES) refuse("the file is larger than 64 MiB");
  let marks = 0;
  for (const octet of data) marks += MARKS.has(octet);
  if (marks > MAX_MARKS) refuse("the file has more than 2^20 commas, colons and opening brackets");
  try {
    return await parsed(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data));
  } catch (error) {
    if (error instanceof Refused) throw error;
    if (error instanceof RangeError) refuse("the file is nested too deeply");
    return refuse("the file is not JSON in UTF-8");
  }
}

async function parsed(given) {
  const document = JSON.parse(given);
  if (document?.format !== "ldp-planner-parameters") refuse("this is not a parameter file");
  if (document.version !== VERSION) refuse("the version is not the one that is read");
  let written = 0;
  for (const [, colon] of given.matchAll(TEXT)) written += colon === undefined ? 0 : 1;
  if (written !== keys(document)) refuse("a key appears twice");
  const hash = await contentHash(document);
  if (document.hash !== hash) refuse("the file was altered or damaged");
  return { document, hash };
}

/** Number of keys in all objects. */
function keys(value) {
  if (value === null || typeof value !== "object") return 0;
  const parts = Object.values(value);
  const own = Array.isArray(value) ? 0 : parts.length;
  return parts.reduce((sum, one) => sum + keys(one), own);
}

const TYPES = {
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** Is the value of the shape? */
function fits(value, schema) {
  if (schema.anyOf) return schema.anyOf.some((one) => fits(value, one));
  if (schema.enum) return schema.enum.includes(value);
  if (!TYPES[schema.type](value)) return false;
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) return false;
  if (typeof value === "number") {
    const { minimum, maximum, exclusiveMinimum } = schema;
    return !(value < minimum || value > maximum || value <= exclusiveMinimum);
  }
  if (typeof value === "string") return value.length >= (schema.minLength ?? 0);
  if (schema.items) return value.length >= (schema.minItems ?? 0) && value.every((one) => fits(one, schema.items));
  if (!schema.properties) return true;
  const known = ([key, one]) => Object.hasOwn(schema.properties, key) && fits(one, schema.properties[key]);
  return schema.required.every((key) => Object.hasOwn(value, key)) && Object.entries(value).every(known);
}

/** Refuse a document that is not of the shape. */
export function checkShape(document, schema) {
  for (const key of new Set([...schema.required, ...Object.keys(document)])) {
    const known = Object.hasOwn(schema.properties, key);
    if (!known || !Object.hasOwn(document, key)) refuse(`${known ? "no" : "an unknown"} key ${key}`);
    if (!fits(document[key], schema.properties[key])) refuse(`${key} is not of the right shape`);
  }
}
