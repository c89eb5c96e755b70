import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { type GenerationRef, JOBS_STREAM, parseJobSubject, RepriseError } from "@reprise/protocol";
import { readAckSubject } from "../nats/ack-subject.ts";
import { isCopy } from "../access/is-copy.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { type PullEnd, PullLoop, type PullRequest, RENEW_MS } from "../nats/pull-loop.ts";
import { ensureJobConsumer } from "./job-consumer.ts";
import { JobMemory } from "./job-memory.ts";
import { type JobSlot, JobSlots } from "./job-slot.ts";
import { PullCredit } from "./pull-credit.ts";

/** A job that this worker holds until it gives it up, or dies. */
export interface Job {
  readonly ref: GenerationRef;
  readonly model: string;
  /** The seq-0 event. */
  readonly payload: Uint8Array;
  /** From now on `payload` is read there, and its own bytes are let go: a large request need not be held twice. */
  holdPayloadAt(read: () => Uint8Array): void;
  /** How often the broker has handed the job out, this time included. */
  readonly deliveries: number;
  /** Says that the job is still being worked on; to be repeated well within `ackWaitMs`. */
  working(): void;
  /** The job is done for good. Resolves when the broker has heard it, or has not for 2 s, or is away: then the job comes back. */
  ack(): Promise<void>;
  /** Gives the job back, to be handed out again at once or after a while. */
  release(delayMs?: number): void;
  /** Lets another job have the slot while this one only waits. It stays this worker's: the heartbeats go on. */
  park(): void;
  /** Resolves when the job has a slot again, or the signal is aborted. It comes before jobs that are still in the queue. */
  unpark(signal: AbortSignal): Promise<void>;
}

export interface PullOptions {
  connection: NatsConnection;
  model: string;
  /** The most jobs of this model that the process runs at a time. */
  slots: number;
  /** What the requests of running jobs may take, parked ones included; while there is no room for one more, none is asked for. No bound by default. */
  memory?: JobMemory;
  /** After how long without a heartbeat the broker hands a job to another worker. */
  ackWaitMs: number;
  /** Runs one job. Its slot is free again when the promise settles; a rejection is reported and releases the job. */
  run: (job: Job) => Promise<void>;
  onError: (error: unknown) => void;
}

export interface Puller {
  /** Asks for no more jobs. Those that run go on. */
  stop(): void;
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>;
  readonly running: number;
}

/**
 * The longest that a pull request waits; and no longer than half the ack wait, lest the jobs of a worker that has fallen asleep be
 * handed to that same worker again.
 */
const PULL_EXPIRES_MS = 30_000;
const ACK_TIMEOUT_MS = 2_000;
/**
 * Works off one model's queue. A pull request waits at the broker for every free slot, so that a job is handed out the moment
 * it arrives; there is never a job here without a slot to run it.
 * @throws RepriseError `broker_unavailable`
 */
export async function pullJobs(options: PullOptions): Promise<Puller> {
  const { connection, model, slots, ackWaitMs, run, onError } = options;
  const { memory = new JobMemory(Number.POSITIVE_INFINITY) } = options;
  const consumer = await ensureJobConsumer(connection, model, ackWaitMs);
  const expiresMs = Math.min(PULL_EXPIRES_MS, ackWaitMs / 2);
  const running = new Set<Promise<void>>();
  const credit = new PullCredit(slots);
  const jobSlots = new JobSlots(credit, () => loop.pull());
  let stopped = false;
  let reopening = false;
  const loop = new PullLoop({
    connection,
    stream: JOBS_STREAM,
    consumer,
    nextRequest,
    isAsking() {
      credit.expire(Date.now());
      return credit.isAsking;
    },
    onMessage: receive,
    onEnd: receiveEnd,
    onLost: () => credit.unused(Number.POSITIVE_INFINITY),
    onError,
  });

  function nextRequest(): PullRequest | undefined {
    const share = credit.request(Date.now(), expiresMs, memory.free);
    return (
      share && {
        batch: share.batch,
        max_bytes: share.maxBytes,
        expires: expiresMs * 1_000_000,
        idle_heartbeat: Math.min(RENEW_MS, expiresMs / 2) * 1_000_000,
      }
    );
  }

  function receive(msg: Msg): void {
    const delivered = toDelivered(connection, msg);
    if (delivered) {
      const slot = stopped ? undefined : jobSlots.take(msg.data.length);
      if (slot) start(delivered, slot);
      else delivered.release();
    } else {
      onError(
        new RepriseError(
          "protocol_violation",
          `"${msg.subject}" is not a job's subject, or its job is a copy of another message; it was terminated (+TERM).`,
        ),
      );
      credit.unused(1);
    }
    // One request may have held all bytes that can be under way.
    loop.pull();
  }

  function receiveEnd({ reason, unused }: PullEnd): void {
    credit.unused(unused);
    if (reason === "expired") loop.pull();
    // The queue has no leader at the moment, or a store that was rolled back has lost the consumer.
    if (reason === "no_responders") void reopen();
  }

  async function reopen(): Promise<void> {
    if (reopening || stopped) return;
    reopening = true;
    // A broker that does not answer yet is asked again after the next pull without responders.
    await ensureJobConsumer(connection, model, ackWaitMs).catch(() => undefined);
    reopening = false;
  }

  function start(delivered: Delivered, slot: JobSlot): void {
    const job: Job = Object.assign(delivered, {
      park: () => slot.park(),
      unpark: (signal: AbortSignal) => slot.unpark(signal),
    });
    const bytes = delivered.payload.length;
    memory.hold(bytes);
    const ended = (async () => run(job))()
      .catch((error: unknown) => {
        onError(error);
        job.release(1_000);
      })
      .finally(() => {
        running.delete(ended);
        memory.release(bytes);
        slot.end();
      });
    running.add(ended);
  }

  const forgetMemory = memory.onFree(() => loop.pull());
  return {
    stop() {
      if (stopped) return;
      stopped = true;
      forgetMemory();
      // Jobs that are on their way still come, and are given back at once.
      loop.drain();
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
    get running() {
      return running.size;
    },
  };
}

/** A job without the slot that it is run in. */
type Delivered = Omit<Job, "park" | "unpark">;

/** Undefined for what is not a job; the broker is told to forget it, for it would come back for ever. */
function toDelivered(connection: NatsConnection, msg: Msg): Delivered | undefined {
  const { reply = "" } = msg;
  const named = isCopy(msg.headers) ? undefined : readSubject(msg.subject);
  if (!named) {
    connection.publish(reply, "+TERM");
    return undefined;
  }
  const { model, tenant, generation } = named;
  // Once the connection is closed, silence has the same effect, only later.
  const say = (word: string) => {
    if (!connection.isClosed() && !connection.isDraining()) connection.publish(reply, word);
  };
  let payload: Uint8Array | (() => Uint8Array) = Uint8Array.from(msg.data);
  return {
    ref: { tenant, generation },
    model,
    get payload() {
      return typeof payload === "function" ? payload() : payload;
    },
    holdPayloadAt(read) {
      payload = read;
    },
    deliveries: readAckSubject(reply).deliveries,
    working: () => say("+WPI"),
    async ack() {
      // Without an answer the broker is away, or has lost the job. It comes back if it is there, and is found to be done.
      await inboxOf(connection).ask(reply, "+ACK", ACK_TIMEOUT_MS);
    },
    release: (delayMs = 0) => say(`-NAK {"delay": ${delayMs * 1_000_000}}`),
  };
}

function readSubject(subject: string) {
  try {
    return parseJobSubject(subject);
  } catch {
    return undefined;
  }
}
