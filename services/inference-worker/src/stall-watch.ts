/** What it takes to ask the broker whether it has more to say: a NATS connection. */
export interface Flushing {
  /** Resolves when everything is here that the broker had sent before it got to this. */
  flush(): Promise<void>;
}

export interface StallWatch extends Disposable {
  /** Whether a job that arrives now may have lain in the socket for so long that it is another worker's by now. */
  readonly doubtful: boolean;
}

/**
 * Notices when this process did not run for a while: a paused container, a suspended machine, a blocked event loop.
 *
 * While a process sleeps, the broker goes on to answer its pull requests. What it was given and did not take up in time goes to
 * another worker, but still lies in the socket when the process wakes, and looks like any job; run, it would fence the worker
 * that has it, and use up an attempt. A connection is first in, first out: so whatever comes before the broker answers a ping
 * that was sent after the stall is in doubt, and nothing behind that is.
 *
 * @param limitMs how long a stall may be, below which jobs are surely still ours
 * @param now wall-clock time in milliseconds: a monotonic clock stands still while a machine is suspended
 */
export function watchStalls(connection: Flushing, limitMs: number, now: () => number = Date.now): StallWatch {
  let aliveAt = now();
  let doubtful = false;
  const look = () => {
    const at = now();
    if (at - aliveAt > limitMs) void settle();
    aliveAt = at;
  };
  const settle = async () => {
    doubtful = true;
    try {
      await connection.flush();
    } catch {
      // The connection is closed, and what was in its socket is gone with it.
    }
    doubtful = false;
  };
  const timer = setInterval(look, limitMs / 4);
  timer.unref();
  return {
    get doubtful() {
      look();
      return doubtful;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
