// Exact draws from random bytes: words of 32 bits, little-endian, and what is made of them.

import { refuse } from "./parameter-file.mjs";

export const GRID = 2 ** 32;
const MOST_BYTES = 2 ** 16; // that the system gives at a time

/** So many bytes of the operating system's generator. */
export function system(count) {
  const data = new Uint8Array(count);
  for (let k = 0; k < count; k += MOST_BYTES) crypto.getRandomValues(data.subarray(k, k + MOST_BYTES));
  return data;
}

export function words(source, count) {
  const data = source(4 * count);
  if (!(data instanceof Uint8Array) || data.length !== 4 * count) refuse("entropy failed");
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  return Array.from({ length: count }, (_, i) => view.getUint32(4 * i, true));
}

/** Uniform below size: a word is taken again where it is in the last, incomplete run of the size. */
export const choose = (source, size) => chooseAll(source, [size])[0];

/** One choice after the other, as choose makes them, from as few calls as may be. */
export function chooseAll(source, sizes) {
  const chosen = [];
  while (chosen.length < sizes.length) {
    for (const word of words(source, sizes.length - chosen.length)) {
      const size = sizes[chosen.length];
      if (word < GRID - (GRID % size)) chosen.push(word % size);
    }
  }
  return chosen;
}

/** Uniform below a BigInt: a number of as many words as it has, and two, until one is accepted. */
export function below(source, size) {
  const count = Math.ceil(size.toString(2).length / 32) + 2;
  const top = 1n << BigInt(32 * count);
  for (;;) {
    const number = words(source, count).reduceRight((sum, word) => (sum << 32n) + BigInt(word), 0n);
    if (number < top - (top % size)) return number % size;
  }
}

/** The first so many of 0 to count - 1 in a random order: the last takes the place of the chosen. */
export function order(source, count, needed) {
  const moved = new Map();
  const sizes = Array.from({ length: needed }, (_, k) => count - k);
  return chooseAll(source, sizes).map((place, k) => {
    const chosen = moved.get(place) ?? place;
    moved.set(place, moved.get(count - 1 - k) ?? count - 1 - k);
    return chosen;
  });
}

export function xxh32(item, seed) {
  const rotate = (x, r) => (x << r) | (x >>> (32 - r));
  let h = (seed + 374761393 + 4 + Math.imul(item, 3266489917)) | 0;
  h = Math.imul(rotate(h, 17), 668265263);
  h = Math.imul(h ^ (h >>> 15), 2246822519);
  h = Math.imul(h ^ (h >>> 13), 3266489917);
  return (h ^ (h >>> 16)) >>> 0;
}

export function uint32(...values) {
  const data = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, i) => data.setUint32(4 * i, value, true));
  return new Uint8Array(data.buffer);
}

export function joined(...parts) {
  const data = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) data.set(part, (end += part.length) - part.length);
  return data;
}

/** A report of bits, in whole words of 64. */
export const octets = (bits) => 8 * Math.ceil(bits / 64);

export const hasBit = (report, k) => Boolean((report[k >> 3] >> (k & 7)) & 1);

export function setBit(report, k) {
  report[k >> 3] |= 1 << (k & 7);
}

/** Of a parameter file where each person answers some questions: which, by a word; else null.
 *  Systematic sampling, as planner/laws/drawing.py explains it. */
export function drawingOf({ drawn, questions }) {
  if (drawn === undefined) return null;
  const { chances } = drawn;
  if (chances.length !== questions.length) refuse("there is not one chance of each question");
  const ends = [0];
  for (const chance of chances) ends.push(ends.at(-1) + chance);
  if (ends.at(-1) % GRID !== 0) refuse("chances of questions do not add up to a whole number");
  return (word) => {
    const points = ends.map((end) => Math.ceil((end - word) / GRID)); // before each end
    return questions.map(({ name }) => name).filter((_, k) => points[k + 1] > points[k]);
  };
}
