import { type Msg, type NatsConnection, type Subscription } from "@nats-io/transport-node";
import {
  jobLane,
  JOBS_STREAM,
  laneKey,
  type LaneName,
  laneOf,
  LIMITS,
  RepriseError,
} from "@reprise/protocol";
import { JetStreamApiError } from "@nats-io/jetstream";
import { consumerCall, newInbox, subscribeGuarded } from "@reprise/broker";
import { LaneConsumers } from "./lane-consumers.ts";
import type { PullEndReason, PullKind } from "./lane.ts";
import type { PullEffect, PullRoom } from "./slot-sharing.ts";

/** Maximum bytes that the broker may have in flight to one queue of one worker: it drops a connection that lags by 64 MiB. */
const MAX_ASKED_BYTES = 16 * 1_024 * 1_024;
/** The largest job with its subject and headers. A request for less might never be met. */
const MAX_JOB_BYTES = LIMITS.eventBytes + 8_192;
/** The longest that a pull waits; and no longer than half the ack wait, lest the jobs of a worker that has fallen asleep be handed to it again. */
const WAIT_MS = 30_000;
/** Milliseconds between calls of `renew`. */
export const RENEW_MS = 1_000;
/** Pulls live in the memory of the consumer's leader. After this number of renewals without an answer they are lost. */
const MOST_SILENT_RENEWALS = 3;
const MS = 1_000_000;
const STATUS = { heartbeat: 100, empty: 404, expired: 408, ended: 409, noResponders: 503 } as const;

export interface LanePullsOptions {
  connection: NatsConnection;
  model: string;
  ackWaitMs: number;
  /** One job, inside the connection's read loop: it has to be short. Its pull may have been given up. */
  onJob: (msg: Msg) => void;
  onEnded: (lane: LaneName, reason: PullEndReason) => void;
  onError: (error: unknown) => void;
}

interface Pull {
  readonly token: string;
  readonly kind: PullKind;
  readonly lane: LaneName;
  left: number;
  bytes: number;
  hasBroughtJobs: boolean;
  silentRenewals: number;
}

/**
 * The pulls of one worker from all lanes of a model, one of each lane at a time. Each has a reply subject of its own, so that a late status is not
 * taken for one of the next pull.
 */
export class LanePulls {
  readonly #options: LanePullsOptions;
  readonly #consumers: LaneConsumers;
  readonly #prefix: string;
  readonly #subscription: Subscription;
  readonly #pulls = new Map<string, Pull>();
  /** Lanes that were opened since the last renewal but one: a pull without responders there has no leader to come to. */
  readonly #justOpened = new Map<string, number>();
  #made = 0;
  #renewals = 0;
  #isStopped = false;

  constructor(options: LanePullsOptions) {
    const { connection, onError } = options;
    this.#options = options;
    this.#prefix = `${newInbox(connection)}.`;
    this.#consumers = new LaneConsumers(options);
    const onMessage = (msg: Msg) => this.#receive(msg);
    this.#subscription = subscribeGuarded(connection, `${this.#prefix}*`, { onMessage, onError });
  }

  /** Number of pulls that fit, for jobs of any size. Waiting pulls leave half of the room to the others. */
  room(freeBytes: number): Omit<PullRoom, "isFor"> {
    const most = Math.min(MAX_ASKED_BYTES, freeBytes);
    const left = most - this.#askedBytes;
    const fit = (bytes: number) => Math.max(0, Math.floor(bytes / MAX_JOB_BYTES));
    return { now: fit(left), waiting: fit(left - most / 2) };
  }

  /** @param pulls no more than there is room for */
  make(pulls: readonly PullEffect[], freeBytes: number): void {
    if (pulls.length === 0) return;
    let spare = Math.min(MAX_ASKED_BYTES, freeBytes) - this.#askedBytes - pulls.length * MAX_JOB_BYTES;
    for (const { kind, tenant, priority, batch } of pulls) {
      // Half of what is left each time, so that slots that become free meanwhile are asked for too.
      const extra = kind === "now" ? Math.min((batch - 1) * MAX_JOB_BYTES, Math.floor(spare / 2)) : 0;
      spare -= extra;
      const token = (this.#made++).toString(36);
      const asked = { left: batch, bytes: MAX_JOB_BYTES + extra };
      const lane = { tenant, priority };
      const pull = { token, kind, lane, ...asked, hasBroughtJobs: false, silentRenewals: 0 };
      this.#pulls.set(laneKey(lane), pull);
      if (this.#consumers.isOpen(lane)) this.#send(pull);
      else void this.#openAndSend(pull);
    }
  }

  /** Gives up pulls that the broker has lost. To be called every second. */
  renew(): void {
    this.#renewals++;
    for (const [lane, at] of this.#justOpened) if (at < this.#renewals - 1) this.#justOpened.delete(lane);
    for (const pull of Array.from(this.#pulls.values()))
      if (pull.silentRenewals++ > MOST_SILENT_RENEWALS) this.#end(pull, "cut");
  }

  /** The broker has forgotten all pulls. */
  giveUp(): void {
    for (const pull of Array.from(this.#pulls.values())) this.#end(pull, "cut");
  }

  /** Makes no more pulls. What is under way still comes. */
  drain(): void {
    this.#isStopped = true;
    if (!this.#options.connection.isClosed()) void this.#subscription.drain();
  }

  get #askedBytes(): number {
    return [...this.#pulls.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async #openAndSend(pull: Pull): Promise<void> {
    try {
      await this.#consumers.open(pull.lane);
    } catch (error) {
      // A broker that does not answer is asked again after the next renewal.
      if (error instanceof JetStreamApiError && error.status !== STATUS.noResponders)
        this.#options.onError(error);
      this.#end(pull, "unavailable");
      return;
    }
    this.#justOpened.set(laneKey(pull.lane), this.#renewals);
    this.#send(pull);
  }

  #send(pull: Pull): void {
    const { connection, model, ackWaitMs } = this.#options;
    const { token, kind, lane, left, bytes } = pull;
    if (this.#isStopped || connection.isClosed() || this.#pulls.get(laneKey(lane)) !== pull) return;
    const expiresMs = Math.min(WAIT_MS, ackWaitMs / 2);
    const wait = {
      expires: expiresMs * MS,
      // The broker refuses a request that would expire before its second heartbeat.
      idle_heartbeat: Math.min(RENEW_MS, expiresMs / 2) * MS,
    };
    const request = { batch: left, max_bytes: bytes, ...(kind === "now" ? { no_wait: true } : wait) };
    const { consumer } = jobLane(model, lane);
    connection.publish(consumerCall("MSG.NEXT", JOBS_STREAM, consumer), JSON.stringify(request), {
      reply: this.#prefix + token,
    });
  }

  #receive(msg: Msg): void {
    // Only messages without content can be statuses: the headers of the others need not be parsed.
    const code = msg.data.length === 0 ? (msg.headers?.code ?? 0) : 0;
    if (code === 0) this.#receiveJob(msg);
    else this.#receiveStatus(code, msg);
  }

  #receiveJob(msg: Msg): void {
    const lane = laneOf(msg.subject);
    const pull = lane && this.#pulls.get(laneKey(lane));
    if (pull) {
      pull.silentRenewals = 0;
      pull.hasBroughtJobs = true;
      pull.left--;
      pull.bytes = Math.max(0, pull.bytes - msg.data.length);
      if (pull.left === 0) this.#pulls.delete(laneKey(pull.lane));
    }
    this.#options.onJob(msg);
  }

  #receiveStatus(code: number, msg: Msg): void {
    const token = msg.subject.slice(this.#prefix.length);
    const pull = [...this.#pulls.values()].find((one) => one.token === token);
    if (!pull) return;
    pull.silentRenewals = 0;
    if (code !== STATUS.heartbeat) this.#end(pull, this.#reasonOf(code, pull, msg));
  }

  #reasonOf(code: number, { lane, hasBroughtJobs, bytes }: Pull, msg: Msg): PullEndReason {
    switch (code) {
      case STATUS.empty:
      case STATUS.expired:
        return "empty";
      case STATUS.ended:
        // With a count: the next job has more bytes than the rest of the pull. Without one: the consumer or its leader is gone.
        if (msg.headers?.has("Nats-Pending-Messages")) {
          const isTooLarge = /maxbytes/i.test(msg.headers.description);
          if (hasBroughtJobs || !isTooLarge) return "cut";
          this.#options.onError(oversized(lane, bytes));
          return "unavailable";
        }
        this.#consumers.close(lane);
        return "unavailable";
      case STATUS.noResponders:
        this.#consumers.close(lane);
        return this.#justOpened.has(laneKey(lane)) ? "unavailable" : "cut";
      default:
        return "unavailable";
    }
  }

  #end(pull: Pull, reason: PullEndReason): void {
    const key = laneKey(pull.lane);
    if (this.#pulls.get(key) !== pull) return;
    this.#pulls.delete(key);
    this.#options.onEnded(pull.lane, reason);
  }
}

function oversized({ tenant, priority }: LaneName, bytes: number): RepriseError {
  const message = `The next ${priority} job of tenant "${tenant}" has more than the ${bytes} bytes that were requested: it keeps the tenant's later ${priority} jobs waiting. Remove it from ${JOBS_STREAM}.`;
  return new RepriseError("protocol_violation", message);
}
