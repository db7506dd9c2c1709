// Unary encoding: one bit an element. The order of random words is that of planner/laws/bits.py.

import { refuse } from "./parameter-file.mjs";
import { GRID, hasBit, octets, setBit, words } from "./exact-draws.mjs";
import { checkUnary } from "./exact-checks.mjs";

export function bits({ a, b }, { levels }) {
  const { rows, elements, dummyLevel } = levels;
  if (a.length !== rows.length || b.length !== rows.length) refuse("one integer a level is needed");
  if (a.some((top, i) => b[i] >= top)) refuse("b must be below a");
  checkUnary(levels, a, b);
  const expand = (column) => {
    const full = new Uint32Array(elements).fill(column[dummyLevel]);
    let start = 0;
    rows.forEach(({ count }, i) => full.fill(column[i], start, (start += count)));
    return full;
  };
  let thresholds = null; // there may be millions
  const columns = () => (thresholds ??= [expand(a), expand(b)]);
  return {
    cells: elements,
    addends: 2,
    size: octets(elements),
    draw: (own, source) => {
      const [ones, zeros] = columns();
      const report = new Uint8Array(octets(elements));
      words(source, elements).forEach((word, k) => {
        if (word < (k === own ? ones : zeros)[k]) setBit(report, k);
      });
      return report;
    },
    says: (k, report) => {
      const [own, other] = columns().map((column) => column[k] / GRID);
      return { marked: hasBit(report, k), own, others: [other] };
    },
  };
}
