// The parameter file: parsing, canonical form, content hash, and strict access to its fields.

import { createHash } from "node:crypto";

const MAX_FILE_BYTES = 64 * 2 ** 20;

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

export function contentHash(document) {
  const { hash: _, ...content } = document;
  return createHash("sha256").update(canonical(content), "utf8").digest("hex");
}

export function parseDocument(data) {
  if (data.length > MAX_FILE_BYTES) refuse("the file is larger than 64 MiB");
  let document;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data));
  } catch {
    refuse("the file is not JSON in UTF-8");
  }
  if (document?.format !== "ldp-planner-parameters") refuse("this is not a parameter file");
  if (document.version !== 1 && document.version !== 2) refuse("the version is not known");
  const hash = contentHash(document);
  if (document.version === 2 && document.hash !== hash) refuse("the file was altered or damaged");
  return { questions: list(document, "questions"), hash };
}

export function whole(object, key, least, most) {
  const value = object?.[key];
  if (!Number.isInteger(value) || value < least || value > most) refuse(`${key} is ${value}`);
  return value;
}

export function number(object, key, least, most) {
  const value = object?.[key];
  if (typeof value !== "number" || !(value >= least && value <= most)) refuse(`${key} is ${value}`);
  return value;
}

export function list(object, key, least = 1) {
  const value = object?.[key];
  if (!Array.isArray(value) || value.length < least) refuse(`${key} is not a list`);
  return value;
}

export function flag(object, key) {
  const value = object?.[key];
  if (typeof value !== "boolean") refuse(`${key} is not true or false`);
  return value;
}

export function budget(object, key) {
  return number(object, key, Number.MIN_VALUE, 50);
}
