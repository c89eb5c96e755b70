import { toRepriseError } from "@reprise/protocol";
import type { BrokerWatch, Logger } from "@reprise/service";

/** What failed once is tried again in half a second: shorter absences get no line. */
const AWAY_MS = 3_000;
/** An archive of which no failure is reported for so long is back, where there is nothing to commit. Longer than a request to a store may hang. */
const QUIET_MS = 60_000;

/**
 * Whether the archive takes commits, as far as its use shows: for readiness, and for one line each when it is away and when it is back.
 * Archiving tries again until it has succeeded, so an archive that stays away goes on being reported.
 */
export class ArchiveWatch implements Pick<BrokerWatch, "because" | "wasAwayWithin"> {
  readonly #logger: Logger;
  #failingSince: number | undefined;
  #cause: string | undefined;
  #backSince = Number.NEGATIVE_INFINITY;
  #quiet: NodeJS.Timeout | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Called for everything that fails; only `archive_unavailable` counts. */
  failed(error: unknown): void {
    const { code, message } = toRepriseError(error);
    if (code !== "archive_unavailable") return;
    this.#failingSince ??= performance.now();
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.worked(), QUIET_MS).unref();
    if (this.#cause !== undefined || performance.now() - this.#failingSince < AWAY_MS) return;
    this.#cause = message;
    this.#logger.warn({ because: message }, "the archive takes no commits");
  }

  /** Called for every commit. */
  worked(): void {
    clearTimeout(this.#quiet);
    this.#failingSince = undefined;
    if (this.#cause === undefined) return;
    this.#cause = undefined;
    this.#backSince = performance.now();
    this.#logger.info("the archive takes commits again");
  }

  because(): readonly string[] {
    return this.#cause === undefined ? [] : [`the archive takes no commits: ${this.#cause}`];
  }

  wasAwayWithin(ms: number): boolean {
    return this.#cause !== undefined || performance.now() - this.#backSince < ms;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#quiet);
  }
}
