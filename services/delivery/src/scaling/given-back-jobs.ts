/**
 * Jobs that were handed out and that no worker has: given back, or lost with their worker. What workers have is known a little late, so a job counts
 * when two readings in a row show it.
 */
export class GivenBackJobs {
  readonly #earlier = new Map<string, number>();

  /**
   * @param held jobs that were handed out and are not acknowledged, as the broker has it
   * @param heldByWorkers as the workers say
   */
  read(model: string, held: number, heldByWorkers: number): number {
    const earlier = this.#earlier.get(model) ?? 0;
    const now = Math.max(0, held - heldByWorkers);
    this.#earlier.set(model, now);
    return Math.min(earlier, now);
  }
}
