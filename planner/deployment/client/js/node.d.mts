import type { Memory as Remembered } from "./client.mjs";

export { Client, Refused } from "./client.mjs";

/** Reports in a directory, in files that are written whole or not at all. */
export class Memory implements Remembered {
  constructor(directory: string);
  change(key: readonly unknown[], step: (kept: Uint8Array | null) => Uint8Array): Promise<Uint8Array>;
}
