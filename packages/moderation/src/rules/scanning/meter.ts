/** Counts the work of judging, so that it can be shared out: symbols read and read again, instructions visited, findings. A step takes some 15 ns. */
export class Meter {
  steps = 0;
}

/** Steps after a finding: a withdrawal is to be decided on. */
export const STEPS_PER_FINDING = 100;
