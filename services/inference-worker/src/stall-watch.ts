/** What it takes to learn how old the newest word from the broker is: a NATS connection. */
export interface Flushing {
  /** Sends a ping, and resolves with the broker's answer to it. */
  flush(): Promise<void>;
}

export interface StallWatch extends Disposable {
  /** Whether a job that arrives now may have been on its way for so long that it is another worker's by now. */
  readonly doubtful: boolean;
  /** Tells that the connection is a new one: what was on its way over the old one never comes. */
  reconnected(): void;
}

/**
 * Tells jobs that come late. While a process sleeps (a paused container, a suspended machine, a blocked event loop), or its network
 * holds everything up, the broker goes on to answer its pull requests. What is not taken up in time goes to another worker, but
 * arrives here in the end all the same, and looks like any job; run, it would fence the worker that has it, and use up an attempt.
 *
 * A connection is first in, first out: what comes behind the answer to a ping was sent by the broker after that ping was sent from
 * here. So a job is at most as old as the last ping that was answered, and in doubt when that is too long ago.
 *
 * @param limitMs how old a job may be; below the ack wait it is surely still ours
 * @param now wall-clock time in milliseconds: a monotonic clock stands still while a machine is suspended
 */
export function watchStalls(connection: Flushing, limitMs: number, now: () => number = Date.now): StallWatch {
  let youngerThan = now();
  const ping = async () => {
    const sentAt = now();
    try {
      await connection.flush();
    } catch {
      // The connection broke: no answer, so nothing is known.
      return;
    }
    youngerThan = Math.max(youngerThan, sentAt);
  };
  const timer = setInterval(() => void ping(), limitMs / 4);
  timer.unref();
  return {
    get doubtful() {
      return now() - youngerThan > limitMs;
    },
    reconnected() {
      youngerThan = now();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
