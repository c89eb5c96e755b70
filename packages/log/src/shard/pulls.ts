import { createInbox, type Msg, type NatsConnection, type Subscription } from "@nats-io/transport-node";
import { watchConnection } from "../nats/watch-connection.ts";
import { GROUP } from "./state.ts";
import { subscribeGuarded } from "../nats/subscribe-guarded.ts";

export interface ShardPullsOptions {
  connection: NatsConnection;
  stream: string;
  consumer: string;
  /** One event, in the order of the deliveries. */
  onMessage: (msg: Msg) => void;
  /** From now on this follower is the one that is fed. */
  onPinned: () => void;
  /** Requests were lost, and with them perhaps events that were under way: the connection or a leader has changed, or the consumer is gone. */
  onBroken: () => void;
  /** Every second in which another follower is fed, or none. */
  onIdle: () => void;
  onError: (error: unknown) => void;
}

/** What one request asks for at most: well below the 64 MiB at which the broker gives a connection up, and above any one event. */
const BATCH = 4_096;
const BATCH_BYTES = 8 * 1_024 * 1_024;
/** Each renewal is answered, with events or with its expiry, so silence means that the broker has forgotten the requests. */
const RENEW_MS = 1_000;
const EXPIRES_MS = 2 * RENEW_MS;
const MOST_SILENT_RENEWALS = 3;
const EXPIRED = 408;
const ENDED = 409;
/** Another follower is fed now. */
const WRONG_PIN = 423;

/**
 * Keeps requests for events waiting at the broker: one more every second, each for two seconds, and more as they are used up. So an
 * event never waits for a request, and the broker hears from the follower that is fed, which it would replace after three seconds.
 * That one follower is known by the id that came with its first event and is part of its requests from then on.
 */
export class ShardPulls {
  readonly #options: ShardPullsOptions;
  readonly #renewals: NodeJS.Timeout;
  #subscription: Subscription;
  #pinId: string | undefined;
  /** How many events the broker still owes. */
  #asked = 0;
  #silentRenewals = 0;
  #isPaused = false;
  #isStopped = false;

  constructor(options: ShardPullsOptions) {
    this.#options = options;
    this.#subscription = this.#listen();
    watchConnection(options.connection, { onUp: () => this.#restart() });
    this.#renewals = setInterval(() => this.#renew(), RENEW_MS);
    this.#pull();
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
    this.#isStopped = true;
    clearInterval(this.#renewals);
    this.#subscription.unsubscribe();
  }

  #listen(): Subscription {
    const { connection, onError } = this.#options;
    return subscribeGuarded(connection, createInbox(), { onMessage: (msg) => this.#receive(msg), onError });
  }

  #pull(): void {
    const { connection, stream, consumer } = this.#options;
    if (this.#isStopped || connection.isClosed()) return;
    const batch = this.#isPaused ? 1 : BATCH;
    this.#asked += batch;
    const request = {
      batch,
      max_bytes: BATCH_BYTES,
      expires: EXPIRES_MS * 1_000_000,
      group: GROUP,
      id: this.#pinId,
    };
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
      reply: this.#subscription.getSubject(),
    });
  }

  #topUp(): void {
    if (this.#asked < BATCH / 2 && !this.#isPaused) this.#pull();
  }

  #receive(msg: Msg): void {
    this.#silentRenewals = 0;
    if (msg.data.length === 0) {
      const code = msg.headers?.code ?? 0;
      if (code !== 0) return this.#receiveStatus(code, msg.headers?.get("Nats-Pending-Messages"));
    }
    this.#asked = Math.max(0, this.#asked - 1);
    this.#topUp();
    if (this.#pinId === undefined) {
      this.#pinId = msg.headers?.get("Nats-Pin-Id");
      this.#options.onPinned();
    }
    this.#options.onMessage(msg);
  }

  #receiveStatus(code: number, unused: string | undefined): void {
    this.#asked = unused ? Math.max(0, this.#asked - Number(unused)) : 0;
    if (code === WRONG_PIN) this.#pinId = undefined;
    if (code === EXPIRED || code === WRONG_PIN || (code === ENDED && unused)) this.#topUp();
    // Asked again at once, a consumer that is gone or has no leader would answer so at once.
    else this.#options.onBroken();
  }

  /** Counts renewals, not time: a process that was asleep hears what has come meanwhile before its next renewal but one. */
  #renew(): void {
    if (++this.#silentRenewals > MOST_SILENT_RENEWALS) return this.#restart();
    this.#pull();
    if (this.#pinId === undefined) this.#options.onIdle();
  }

  /** A new inbox keeps late answers to old requests apart. */
  #restart(): void {
    const { connection } = this.#options;
    if (this.#isStopped || connection.isClosed() || connection.isDraining()) return;
    this.#subscription.unsubscribe();
    this.#subscription = this.#listen();
    this.#asked = 0;
    this.#silentRenewals = 0;
    this.#pull();
    this.#options.onBroken();
  }
}
