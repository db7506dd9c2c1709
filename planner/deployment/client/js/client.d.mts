/**
 * An item's name, or its number; several of them; a number; null for none or no answer. Of a
 * question with an anchor a list of two, the answer to the question and the one to its anchor.
 */
export type Answer = string | number | null | ReadonlyArray<string | number>;

/** What a device remembers of its reports, for good. */
export interface Memory {
  /**
   * What is kept under a key after a step from what was kept, or null. No other tab or process
   * comes between; it is stored before it is given. A step gives what it got to change nothing.
   */
  change(key: readonly unknown[], step: (kept: Uint8Array | null) => Uint8Array): Promise<Uint8Array>;
}

export interface Asking {
  /** Remember the report for this person; asked again, the same is given. Needs a memory. */
  user?: string;
  /** From 1, for a question in rounds. */
  round?: number;
  /** Whether the answer has changed since the last round, where a person reports one value. */
  changed?: boolean;
}

/** Why nothing is reported; the message never repeats an answer. */
export class Refused extends Error {}

export class Client {
  /** Reads a parameter file and proves its promises. */
  static open(data: Uint8Array, memory?: Memory | null): Promise<Client>;
  /** Content hash of the parameter file. */
  readonly parameters: string;
  /** One answer in, one line of a report file out. */
  report(question: string, answer: Answer, asking?: Asking): Promise<string>;
  /** Names of the questions that a person is asked: all, or those drawn for them, once and for good. */
  questionsOf(user: string): Promise<string[]>;
  /** Which round, or which of their values, a person reports, from 1. */
  ownPart(question: string, user: string): Promise<number>;
}
