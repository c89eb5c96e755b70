import { type Msg, type NatsConnection, type Subscription } from "@nats-io/transport-node";
import { consumerCall } from "../access/api-subject.ts";
import { newInbox } from "../access/inbox-prefix.ts";
import { subscribeGuarded } from "./subscribe-guarded.ts";
import { watchConnection } from "./watch-connection.ts";

/** The fields of a request for a consumer's next messages. Times are in nanoseconds. */
export interface PullRequest {
  readonly batch: number;
  readonly max_bytes: number;
  readonly expires: number;
  /** The broker refuses a request that would expire before its second heartbeat. */
  readonly idle_heartbeat?: number;
  readonly group?: string;
  /** The pin of the client that is fed. */
  readonly id?: string | undefined;
}

/**
 * Why a request ended. `expired`: its time or its bytes were used up, and the rest may be asked for at once. `unpinned`: another client
 * of the group is fed now. `no_responders`: the stream has no leader, or the consumer is gone. `refused`: everything else. After the
 * last two, the same request would be answered in the same way at once: the next renewal is soon enough.
 */
export type PullEndReason = "expired" | "unpinned" | "no_responders" | "refused";

export interface PullEnd {
  readonly reason: PullEndReason;
  /** Number of messages that the request still had room for; infinite if the broker does not say, and then no request is left. */
  readonly unused: number;
}

export interface PullLoopOptions {
  connection: NatsConnection;
  stream: string;
  consumer: string;
  /** Returns the next request; undefined for none. A returned request counts as sent. */
  nextRequest: () => PullRequest | undefined;
  /** True if the broker owes an answer: silence counts only then. Called at each renewal. */
  isAsking: () => boolean;
  /** One message, inside the connection's read loop: it has to be short. */
  onMessage: (msg: Msg) => void;
  onEnd: (end: PullEnd) => void;
  /** The broker may have forgotten all requests, and what was under way for them is lost. New ones follow. */
  onLost: () => void;
  /** Called after each renewal. */
  onRenewed?: () => void;
  onError: (error: unknown) => void;
}

/** Milliseconds between renewals of requests. */
export const RENEW_MS = 1_000;
/** Pull requests live in the memory of the consumer's leader. After this number of renewals without an answer they are lost. */
const MOST_SILENT_RENEWALS = 3;
const STATUS = { heartbeat: 100, expired: 408, ended: 409, unpinned: 423, noResponders: 503 } as const;

/**
 * Keeps pull requests waiting at a consumer, and notices when the broker has lost them: at a reconnect, and when several renewals in a row get no
 * answer, not even a heartbeat. A new inbox then keeps late answers to old requests apart.
 *
 * `consume` of nats.js 3.4.0 does not fit, since the user decides what every request asks for:
 * - It bounds either messages or bytes (`max_messages` and `max_bytes` exclude each other). Both bounds are needed: the broker drops a connection that
 *   lags by 64 MiB.
 * - It looks for a consumer that was deleted once per `expires` (30 s), and never creates it.
 * - After lost requests it keeps its inbox, and counts late answers to the old requests as answers to the new ones.
 */
export class PullLoop {
  readonly #options: PullLoopOptions;
  readonly #renewals: NodeJS.Timeout;
  #subscription: Subscription;
  #silentRenewals = 0;
  #isStopped = false;

  constructor(options: PullLoopOptions) {
    this.#options = options;
    this.#subscription = this.#listen();
    watchConnection(options.connection, { onUp: () => this.#restart() });
    this.#renewals = setInterval(() => this.#renew(), RENEW_MS);
    this.pull();
  }

  /** Asks for what there is to ask for. */
  pull(): void {
    const { connection, stream, consumer, nextRequest } = this.#options;
    if (this.#isStopped || connection.isClosed()) return;
    const request = nextRequest();
    if (!request) return;
    connection.publish(consumerCall("MSG.NEXT", stream, consumer), JSON.stringify(request), {
      reply: this.#subscription.getSubject(),
    });
  }

  /** Asks for nothing more, and takes nothing more. */
  stop(): void {
    this.#end();
    this.#subscription.unsubscribe();
  }

  /** Asks for nothing more. What is under way still comes. */
  drain(): void {
    this.#end();
    if (!this.#options.connection.isClosed()) void this.#subscription.drain();
  }

  #end(): void {
    this.#isStopped = true;
    clearInterval(this.#renewals);
  }

  #listen(): Subscription {
    const { connection, onError } = this.#options;
    return subscribeGuarded(connection, newInbox(connection), {
      onMessage: (msg) => this.#receive(msg),
      onError,
    });
  }

  #receive(msg: Msg): void {
    this.#silentRenewals = 0;
    // Only messages without content can be statuses: the headers of the others need not be parsed.
    const code = msg.data.length === 0 ? (msg.headers?.code ?? 0) : 0;
    if (code === 0) this.#options.onMessage(msg);
    else if (code !== STATUS.heartbeat)
      this.#options.onEnd(toPullEnd(code, msg.headers?.get("Nats-Pending-Messages")));
  }

  /**
   * Counts renewals, not time: a process that was asleep hears what has come meanwhile before its next renewal but one. Only
   * then would a new inbox throw away messages that have arrived.
   */
  #renew(): void {
    this.#silentRenewals = this.#options.isAsking() ? this.#silentRenewals + 1 : 0;
    if (this.#silentRenewals > MOST_SILENT_RENEWALS) return this.#restart();
    this.pull();
    this.#options.onRenewed?.();
  }

  #restart(): void {
    const { connection } = this.#options;
    if (this.#isStopped || connection.isClosed() || connection.isDraining()) return;
    this.#subscription.unsubscribe();
    this.#subscription = this.#listen();
    this.#silentRenewals = 0;
    this.#options.onLost();
    this.pull();
  }
}

function toPullEnd(code: number, unused = ""): PullEnd {
  return {
    reason: reasonOf(code, unused),
    unused: unused === "" ? Number.POSITIVE_INFINITY : Number(unused),
  };
}

function reasonOf(code: number, unused: string): PullEndReason {
  switch (code) {
    case STATUS.expired:
      return "expired";
    case STATUS.ended:
      // With a count: the next message has more bytes than the rest of the request. Without one: the consumer or its leader is gone.
      return unused === "" ? "refused" : "expired";
    case STATUS.unpinned:
      return "unpinned";
    case STATUS.noResponders:
      return "no_responders";
    default:
      return "refused";
  }
}
