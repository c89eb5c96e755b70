import { JetStreamApiError } from "@nats-io/jetstream";
import { RepriseError } from "@reprise/protocol";

/** A listing finds the jobs whose hint was lost, and those of dead workers in lanes that no pull waits at. */
const EVERY_RENEWALS = 15;

export interface QueueListingsOptions {
  /** Lists the queue and passes the result on. */
  list: () => Promise<void>;
  onError: (error: unknown) => void;
}

/** Decides at which renewals the queue is listed. After a failure the pause until the next listing starts at one renewal and doubles. */
export class QueueListings {
  readonly #options: QueueListingsOptions;
  #renewalsLeft = EVERY_RENEWALS;
  #failed = 0;

  constructor(options: QueueListingsOptions) {
    this.#options = options;
  }

  /** @throws what `list` throws */
  async list(): Promise<void> {
    this.#renewalsLeft = EVERY_RENEWALS;
    await this.#options.list();
  }

  renewed(): void {
    if (--this.#renewalsLeft <= 0) void this.#listAgain();
  }

  /** Lists at the next renewal. */
  expedite(): void {
    this.#renewalsLeft = 0;
  }

  /** Lists at the next renewal. Earlier failures no longer count. */
  reconnected(): void {
    this.expedite();
    this.#failed = 0;
  }

  async #listAgain(): Promise<void> {
    try {
      await this.list();
      this.#failed = 0;
    } catch (error) {
      if (!isUnanswered(error)) this.#options.onError(error);
      this.#renewalsLeft = Math.min(this.#renewalsLeft, 2 ** this.#failed++);
    }
  }
}

/** True if the broker is away, or has no leader for now (503). Any other refusal returns false. */
function isUnanswered(error: unknown): boolean {
  return (
    error instanceof RepriseError &&
    error.code === "broker_unavailable" &&
    !(error.cause instanceof JetStreamApiError && error.cause.status !== 503)
  );
}
