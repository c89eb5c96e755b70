import type { TargetSettings, TargetName } from "../targets/all.ts";

/** What every scenario gets. */
export interface RunContext {
  readonly settings: TargetSettings;
  /** The systems under test, in the order in which they run. */
  readonly targets: readonly TargetName[];
  /** A run to see that everything works, its figures a hint: at most a minute. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  /** One line of progress for the terminal. */
  readonly say: (line: string) => void;
}
