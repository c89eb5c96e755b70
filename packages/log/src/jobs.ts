import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { createInbox } from "@nats-io/transport-node";
import { type GenerationRef, JOBS_STREAM, jobQueue, jobSubject, parseJobSubject, RepriseError } from "@reprise/protocol";
import { watchConnection } from "./connection.ts";
import { PullCredit } from "./pull-credit.ts";
import type { Publish } from "./publisher.ts";

/**
 * Puts a generation into its model's queue. The job is the generation's seq-0 event, so that a worker can write it if whoever
 * created the generation died before it did.
 * @returns whether this generation was queued within the last two minutes already
 * @throws RepriseError `broker_unavailable`
 */
export async function enqueueJob(
  publish: Publish,
  { model, ref, payload }: { model: string; ref: GenerationRef; payload: Uint8Array },
): Promise<{ duplicate: boolean }> {
  const outcome = await publish(jobSubject(model, ref), payload, { messageId: ref.generation });
  if (outcome.kind === "stored") return { duplicate: outcome.duplicate };
  throw new RepriseError("broker_unavailable", "The job could not be queued.", { retryAfterMs: 1_000 });
}

/** A job that this worker holds until it says otherwise, or dies. */
export interface Job {
  readonly ref: GenerationRef;
  readonly model: string;
  /** The seq-0 event. */
  readonly payload: Uint8Array;
  /** Says that the job is still being worked on; to be repeated well within `ackWaitMs`. */
  working(): void;
  /** The job is done for good. */
  ack(): Promise<void>;
  /** Gives the job back, to be handed out again at once or after a while. */
  release(delayMs?: number): void;
}

export interface PullOptions {
  connection: NatsConnection;
  model: string;
  /** The most jobs of this model that the process runs at a time. */
  slots: number;
  /** After how long without a sign of life the broker hands a job to another worker. */
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

const PULL_EXPIRES_MS = 30_000;

/**
 * Works off one model's queue. A pull request waits at the broker for every free slot, so that a job is handed out the moment
 * it arrives; there is never a job here without a slot to run it.
 */
export async function pullJobs(options: PullOptions): Promise<Puller> {
  const { connection, model, slots, ackWaitMs, run, onError } = options;
  const { filter, consumer } = jobQueue(model);
  const manager = await jetstreamManager(connection);
  await manager.consumers.add(JOBS_STREAM, {
    durable_name: consumer,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ackWaitMs * 1_000_000,
    max_ack_pending: 100_000,
    max_waiting: 10_000,
    max_deliver: -1,
  });
  const running = new Set<Promise<void>>();
  const credit = new PullCredit(slots);
  let stopped = false;
  let subscription: Subscription = listen();

  function listen(): Subscription {
    return connection.subscribe(createInbox(), {
      callback: (error, msg) => {
        try {
          if (error) onError(error);
          else receive(msg);
        } catch (thrown) {
          onError(thrown);
        }
      },
    });
  }

  function pull(): void {
    const batch = stopped ? 0 : credit.request(Date.now(), PULL_EXPIRES_MS);
    if (batch === 0) return;
    const request = JSON.stringify({ batch, expires: PULL_EXPIRES_MS * 1_000_000 });
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${JOBS_STREAM}.${consumer}`, request, { reply: subscription.getSubject() });
  }

  function receive(msg: Msg): void {
    const status = msg.headers?.code ?? 0;
    if (status !== 0) {
      // 100 is a heartbeat. Everything else ends a pull request and says how much of it was not used; 503 ends it unheard.
      if (status !== 100) credit.unused(Number(msg.headers?.get("Nats-Pending-Messages") || Number.POSITIVE_INFINITY));
      return;
    }
    const job = toJob(connection, msg);
    if (!credit.take()) return job.release();
    const running_ = run(job)
      .catch((error: unknown) => {
        onError(error);
        job.release(1_000);
      })
      .finally(() => {
        running.delete(running_);
        credit.release();
        pull();
      });
    running.add(running_);
  }

  /** The broker forgets pull requests when the connection breaks; a new inbox keeps late answers to old ones apart. */
  function restart(): void {
    subscription.unsubscribe();
    subscription = listen();
    credit.unused(Number.POSITIVE_INFINITY);
    pull();
  }

  watchConnection(connection, { onUp: () => !stopped && restart() });
  const renew = setInterval(() => {
    credit.expire(Date.now());
    pull();
  }, 1_000);
  pull();
  return {
    stop() {
      stopped = true;
      clearInterval(renew);
      subscription.unsubscribe();
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
    get running() {
      return running.size;
    },
  };
}

function toJob(connection: NatsConnection, msg: Msg): Job {
  const { reply = "" } = msg;
  const { model, tenant, generation } = parseJobSubject(msg.subject);
  return {
    ref: { tenant, generation },
    model,
    payload: Uint8Array.from(msg.data),
    working: () => connection.publish(reply, "+WPI"),
    async ack() {
      await connection.request(reply, "+ACK", { timeout: 2_000 });
    },
    release: (delayMs = 0) => connection.publish(reply, `-NAK {"delay": ${delayMs * 1_000_000}}`),
  };
}
