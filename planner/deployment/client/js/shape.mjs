// The shape of a document by JSON Schema: the keywords that schema.json uses, and no others.
// schema.json is what "ldp-planner schema" prints, so no client has a description of its own.

import { refuse } from "./document.mjs";

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
export function fits(value, schema) {
  if (schema.anyOf) return schema.anyOf.some((one) => fits(value, one));
  if (schema.enum) return schema.enum.includes(value);
  if (!TYPES[schema.type](value)) return false;
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) return false;
  if (typeof value === "number") {
    const { minimum, maximum, exclusiveMinimum } = schema;
    return !(value < minimum || value > maximum || value <= exclusiveMinimum);
  }
  if (typeof value === "string") return value.length >= (schema.minLength ?? 0);
  if (schema.items) {
    return value.length >= (schema.minItems ?? 0) && value.every((one) => fits(one, schema.items));
  }
  if (!schema.properties) return true;
  const keys = Object.keys(value);
  return (
    schema.required.every((key) => Object.hasOwn(value, key)) &&
    keys.every((key) => Object.hasOwn(schema.properties, key) && fits(value[key], schema.properties[key]))
  );
}

/** Refuse a document that is not of the shape. */
export function checkShape(document, schema) {
  for (const key of new Set([...schema.required, ...Object.keys(document)])) {
    const known = Object.hasOwn(schema.properties, key);
    if (!known || !Object.hasOwn(document, key)) refuse(`${known ? "no" : "an unknown"} key ${key}`);
    if (!fits(document[key], schema.properties[key])) refuse(`${key} is not of the right shape`);
  }
}
