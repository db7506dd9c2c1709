import type { Memory as Remembered } from "./client.mjs";

export { Client, Refused } from "./client.mjs";

/** Reports in a directory, each in a file that is written whole or not at all. */
export class Memory implements Remembered {
  constructor(directory: string);
  recall(key: readonly unknown[]): Promise<Uint8Array | null>;
  keep(key: readonly unknown[], content: Uint8Array): Promise<Uint8Array>;
  forget(key: readonly unknown[]): Promise<void>;
}
