import type { OnStale } from "@reprise/log";
import type { Logger } from "../lifecycle/logger.ts";

/**
 * What this process follows in the broker and can't read: for readiness, and for one line each when that begins and when it ends. The process goes
 * on with what it has read before, so requests are better sent to others.
 */
export class FollowerWatch {
  readonly #logger: Logger;
  readonly #stale = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  readonly onStale: OnStale = (what, failure) => {
    if (failure) {
      this.#stale.set(what, failure.message);
      this.#logger.warn(
        { what, err: failure },
        "a follower can't read the broker, and goes on with what it has",
      );
    } else {
      this.#stale.delete(what);
      this.#logger.info({ what }, "a follower reads the broker again");
    }
  };

  because(): readonly string[] {
    return [...this.#stale].map(([what, because]) => `${what} can't be followed: ${because}`);
  }
}
