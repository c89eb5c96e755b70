/** Counts the work of judging, for whoever shares it out: symbols read and read again, instructions visited, findings. A step takes some 15 ns. */
export class Meter {
  steps = 0;
}

/** What becomes of a finding beside its being found: a withdrawal to be decided on. */
export const STEPS_PER_FINDING = 100;
