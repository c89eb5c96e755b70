import type { Target } from "./target.ts";

/** A check of one requirement. */
export interface Case {
  /** For example `M-20`. */
  readonly requirement: string;
  readonly name: string;
  /** Absent: less than 10 seconds. */
  readonly seconds?: number;
  /** @throws Error that says what was expected and what came; NotTested */
  run(target: Target): Promise<void>;
}

/** The server can't be asked, for want of a key or an ability. */
export class NotTested extends Error {}
