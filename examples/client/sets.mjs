// What the mechanisms for item sets share.

import { refuse } from "./document.mjs";

/** Sizes of longer sets rise from above the padding length, and the shares of people do not. */
export function checkLonger(length, longer) {
  let [before, above] = [length, 1];
  for (const { size, share } of longer) {
    if (size <= before || share > above) refuse("longer sets are out of order");
    [before, above] = [size, share];
  }
}
