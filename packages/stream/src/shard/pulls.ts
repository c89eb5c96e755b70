import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { type PullEnd, PullLoop, RENEW_MS } from "@reprise/broker";
import { GROUP } from "./state.ts";

export interface ShardPullsOptions {
  connection: NatsConnection;
  stream: string;
  consumer: string;
  /** One event, in the order of the deliveries. */
  onMessage: (msg: Msg) => void;
  /**
   * Where the consumer is has to be found out: this follower is the one that is fed from now on; or requests were lost, and with them
   * perhaps events that were under way; or, every second, another follower is fed, or none.
   */
  onUncertain: () => void;
  onError: (error: unknown) => void;
}

/** Maximum size of one request: well below the 64 MiB of lag at which the broker drops a connection, and above any one event. */
const BATCH = 4_096;
const BATCH_BYTES = 8 * 1_024 * 1_024;
/** Each renewal is answered, with events or with its expiry, so silence means that the broker has forgotten the requests. */
const EXPIRES_MS = 2 * RENEW_MS;

/**
 * Keeps requests for events waiting at the broker: one more every second, each for two seconds, and more as they are used up. So an
 * event never waits for a request, and the broker hears from the follower that is fed, which it would replace after three seconds.
 * That one follower is known by the id that came with its first event and is part of its requests from then on.
 */
export class ShardPulls {
  readonly #options: ShardPullsOptions;
  readonly #loop: PullLoop;
  #pinId: string | undefined;
  /** Number of events that the broker still owes. */
  #asked = 0;
  #isPaused = false;

  constructor(options: ShardPullsOptions) {
    this.#options = options;
    this.#loop = new PullLoop({
      ...options,
      nextRequest: () => this.#nextRequest(),
      isAsking: () => true,
      onMessage: (msg) => this.#receive(msg),
      onEnd: (end) => this.#receiveEnd(end),
      onLost: () => {
        this.#asked = 0;
        options.onUncertain();
      },
      onRenewed: () => {
        if (this.#pinId === undefined) options.onUncertain();
      },
    });
  }

  /** Undefined while this follower is not the one that is fed. */
  get pinId(): string | undefined {
    return this.#pinId;
  }

  /** While paused it asks for no more than keeps it the one that is fed. */
  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    if (!isPaused) this.#topUp();
  }

  stop(): void {
    this.#loop.stop();
  }

  #nextRequest() {
    const batch = this.#isPaused ? 1 : BATCH;
    this.#asked += batch;
    return {
      batch,
      max_bytes: BATCH_BYTES,
      expires: EXPIRES_MS * 1_000_000,
      group: GROUP,
      id: this.#pinId,
    };
  }

  #topUp(): void {
    if (this.#asked < BATCH / 2 && !this.#isPaused) this.#loop.pull();
  }

  #receive(msg: Msg): void {
    this.#asked = Math.max(0, this.#asked - 1);
    this.#topUp();
    if (this.#pinId === undefined) {
      this.#pinId = msg.headers?.get("Nats-Pin-Id");
      this.#options.onUncertain();
    }
    this.#options.onMessage(msg);
  }

  #receiveEnd({ reason, unused }: PullEnd): void {
    this.#asked = Math.max(0, this.#asked - unused);
    if (reason === "unpinned") this.#pinId = undefined;
    if (reason === "expired" || reason === "unpinned") this.#topUp();
    else this.#options.onUncertain();
  }
}
