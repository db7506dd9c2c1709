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
  if (value?.length < (schema.minItems ?? schema.minLength ?? 0)) return false;
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) return false;
  if (value < schema.minimum || value > schema.maximum || value <= schema.exclusiveMinimum) return false;
  if (schema.items) return value.every((one) => fits(one, schema.items));
  if (!schema.properties) return true;
  const keys = Object.keys(value);
  return (
    schema.required.every((key) => Object.hasOwn(value, key)) &&
    keys.every((key) => Object.hasOwn(schema.properties, key) && fits(value[key], schema.properties[key]))
  );
}

/** Refuse a document that is not of its version's shape. */
export function checkShape(document, schema) {
  const shape = document.version === 1 ? schema.$defs.version1 : schema;
  for (const key of new Set([...shape.required, ...Object.keys(document)])) {
    const known = Object.hasOwn(shape.properties, key);
    if (!known || !Object.hasOwn(document, key)) refuse(`${known ? "no" : "an unknown"} key ${key}`);
    if (!fits(document[key], shape.properties[key])) refuse(`${key} is not of the right shape`);
  }
}
