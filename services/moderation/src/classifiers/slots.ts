/** At most so many at once; later calls wait in line. */
export interface Slots {
  /**
   * @returns what gives the slot back, once
   * @throws the signal's reason, when that aborts before there is a slot
   */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();

  function release(): void {
    free++;
    const [next] = waiting;
    next?.();
  }

  function waitInLine(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.delete(enter);
        signal.removeEventListener("abort", giveUp);
      };
      const enter = () => {
        leave();
        free--;
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(signal.reason as Error);
      };
      waiting.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) free--;
      else await waitInLine(signal);
      let held = true;
      return () => {
        if (held) release();
        held = false;
      };
    },
  };
}
