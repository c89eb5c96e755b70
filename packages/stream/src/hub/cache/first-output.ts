/** Timing of a generation's first output on its way to a node and to readers. */
export interface FirstOutput {
  /** From when the broker stored it, by its clock, until it came, by this process's. In milliseconds. */
  readonly underwayMs: number;
  /** When it came, and when readers could be sent it: undefined before that. `performance.now()`. */
  readonly receivedAtMs: number;
  shownAtMs: number | undefined;
}
