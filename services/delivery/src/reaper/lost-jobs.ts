import { pause, waitAtMost } from "@reprise/async";
import { type Broker } from "@reprise/broker";
import { enqueueJob, openJobs } from "@reprise/jobs";
import { type GenerationLog, type GenerationCache } from "@reprise/stream";
import {
  isTerminal,
  peekSeq,
  peekType,
  PRIORITIES,
  toRepriseError,
  type Seq,
  STREAM_START,
} from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import { traceIdFields } from "@reprise/runtime/telemetry";
import { toRequested } from "../domain/to-requested.ts";

export interface LostJobsOptions {
  broker: Broker;
  log: GenerationLog;
  /** The caches of this node whose generations have not ended. */
  openCaches: () => readonly GenerationCache[];
  logger: Logger;
  /** Milliseconds that a generation is silent before it is checked. Default 15 s. */
  silentMs?: number | undefined;
}

/** State of a generation without new events. */
interface Silence {
  readonly seq: Seq;
  checkAtMs: number;
}

const SILENT_MS = 15_000;
/** Factor by which checks slow down for a generation that waits for a tool or a slow engine. */
const BACKOFF_FACTOR = 8;
/** Between two sweeps, and how many generations one of them asks about at most. */
const SWEEP_MS = 1_000;
const MAX_CHECKS = 20;
const BUDGET_MS = 5_000;
const CLOSE_MS = 1_000;

/**
 * A job lies in the queue for as long as its generation has not ended; it tells workers what to run, and the reaper what
 * to end. A broker that has lost the end of its store may have lost the job of a log that it has kept, for it writes each stream by
 * itself. While a worker or a reaper that has met the job lives, it ends the generation; when all of them died with the broker,
 * none does. Readers would wait for ever, so the node that serves a silent generation checks that its job is there.
 */
export class LostJobs {
  readonly #options: LostJobsOptions;
  readonly #silentMs: number;
  readonly #silences = new WeakMap<GenerationCache, Silence>();
  readonly #closed = new AbortController();
  readonly #sweeping: Promise<void>;

  constructor(options: LostJobsOptions) {
    const { silentMs = SILENT_MS } = options;
    this.#options = options;
    this.#silentMs = silentMs;
    this.#sweeping = this.#run();
  }

  /** Asks about nothing more, and waits for the answer to come, a second at most. */
  async close(): Promise<void> {
    this.#closed.abort();
    await waitAtMost(CLOSE_MS, this.#sweeping);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    const everyMs = Math.min(SWEEP_MS, this.#silentMs);
    for (;;) {
      await pause(everyMs, signal);
      if (signal.aborted) return;
      const due = this.#options.openCaches().filter((cache) => this.#isDue(cache, performance.now()));
      for (const cache of due.slice(0, MAX_CHECKS)) if (!signal.aborted) await this.#check(cache);
    }
  }

  #isDue(cache: GenerationCache, nowMs: number): boolean {
    const silence = this.#silences.get(cache);
    if (silence?.seq === cache.lastSeq) return silence.checkAtMs <= nowMs;
    this.#silences.set(cache, { seq: cache.lastSeq, checkAtMs: nowMs + this.#silentMs });
    return false;
  }

  async #check(cache: GenerationCache): Promise<void> {
    const { logger } = this.#options;
    const about = { generation: cache.ref.generation, ...traceIdFields(cache.requested?.traceparent) };
    const silence: Silence = {
      seq: cache.lastSeq,
      checkAtMs: performance.now() + this.#silentMs * BACKOFF_FACTOR,
    };
    this.#silences.set(cache, silence);
    try {
      if (await requeueLostJob(this.#options, cache))
        logger.warn(about, "the broker had lost a job, which is queued again");
    } catch (thrown) {
      const error = toRepriseError(thrown);
      // A broker that is away is asked again as soon as at first: it may be the one that has lost something.
      if (error.retryable) silence.checkAtMs = performance.now() + this.#silentMs;
      else logger.error({ ...about, err: error }, "a generation's job could not be checked");
    }
  }
}

/**
 * Queues a generation again that has not ended and has no job. Two requests where it has one, or three; only leaders are asked, for a replica that
 * lags may know a log that has expired.
 * @param cache of a log without the generation's end, as far as it reaches
 * @returns whether it was so
 * @throws RepriseError `broker_unavailable`
 */
async function requeueLostJob(
  { broker, log }: Pick<LostJobsOptions, "broker" | "log">,
  { ref, events }: GenerationCache,
): Promise<boolean> {
  const [first] = await log.leader.readTail(ref, STREAM_START, 1);
  if (!first || peekSeq(first.payload) !== 0) return false;
  const { model, priority } = toRequested(first.payload).request;
  // Two creates with one key and different priorities: the job of one and seq 0 of the other may have won.
  for (const one of PRIORITIES)
    if (await openJobs.readJob(broker.bulk, { ref, model, priority: one })) return false;
  // In this order: a worker appends the end before it acknowledges the job. An end that this misses costs a worker one read of the log.
  const tail = await log.leader.readTail(ref, events.lastKnownStreamSeq);
  if (tail.some(({ payload }) => isTerminal(peekType(payload)))) return false;
  const { duplicate } = await enqueueJob(log.publish, {
    model,
    ref,
    priority,
    payload: first.payload,
    budgetMs: BUDGET_MS,
  });
  return !duplicate;
}
