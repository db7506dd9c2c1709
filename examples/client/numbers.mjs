// What the mechanisms share whose answer is a number in a range, or none.

import { refuse } from "./document.mjs";

export function readRange({ lower, upper, yes_no: yesNo }) {
  if (!(lower < upper) || !Number.isFinite(upper - lower)) refuse("the range is empty or endless");
  return { lower, upper, yesNo, share: (answer) => (answer - lower) / (upper - lower) };
}

/** The number, or null for no answer. */
export function numberIn({ lower, upper, yesNo }, answer) {
  if (answer === null || Number.isNaN(answer)) return null;
  if (typeof answer !== "number" || !(answer >= lower && answer <= upper)) {
    refuse("the answer is outside the question's range");
  }
  if (yesNo && answer !== lower && answer !== upper) refuse("the answer is neither yes nor no");
  return answer;
}
