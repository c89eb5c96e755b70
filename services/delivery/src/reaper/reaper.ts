import { pause, waitAtMost } from "@reprise/async";
import {
  assertPresenceStored,
  type OpenJob,
  type QueuedJob,
  PRESENCE_LEASE_MS,
  openJobs,
} from "@reprise/jobs";
import { type Broker, watchConnection } from "@reprise/broker";
import { type GenerationLog } from "@reprise/stream";
import {
  type GenerationRef,
  jobSubject,
  STREAM_START,
  type StreamSeq,
  toRepriseError,
  type UnixMs,
  plusMs,
} from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import { traceIdFields } from "@reprise/runtime/telemetry";
import { execute } from "./execute.ts";
import { ObservationWindow } from "./observation-window.ts";
import { inspect, type WaitedUntil } from "./inspect.ts";
import { plan, type ReapReason, watchJob, type WatchedJob } from "./plan.ts";
import { readReapRequest } from "./read-reap-request.ts";

export interface ReaperOptions {
  broker: Broker;
  log: GenerationLog;
  logger: Logger;
  /** For how long a presence record with readers counts. Default `PRESENCE_LEASE_MS`; all nodes have to agree. */
  leaseMs?: number | undefined;
  waitedUntil?: WaitedUntil | undefined;
  /** Called for each generation that this reaper has ended. */
  onEnded: (reason: ReapReason, ref: GenerationRef) => void;
}

/** Between two sweeps; with a short lease a part of it, for the broker must be heard within each. */
const SWEEP_MS = 1_000;
const SWEEPS_PER_LEASE = 5;
/** Limits of one sweep: 100,000 open jobs then cost a node some seconds of CPU time, and never a second at once. */
const MAX_MET = 2_000;
const MAX_LOOKS = 1_000;
/** Open jobs that it holds at most, 0.9 KB each. Later jobs wait in the queue until others have gone. */
const MAX_WATCHED = 200_000;
/** Inspections at the same time. */
const LANES = 16;
/** Failed inspections of a lane after which the broker counts as unavailable, and the rest is left for the next sweep. */
const MAX_FAILURES = 3;
/** After how long to inspect a job again where that has failed. */
const POSTPONE_MS = 5_000;
/** Inspections of a job in a row. One that leads to an effect is followed by another: an end, the seq 0 before it and the job's removal after it. */
const MAX_STEPS = 4;
const CLOSE_MS = 1_000;

/**
 * Ends every generation that has to end, even if no worker ever takes it and no client reads it. A job lies in the queue for as long as
 * its generation has not ended, so walking along the queue meets each of them once; from then on it is a deadline in memory. When
 * it is due, `inspect` reads the log and the presence records, `plan` decides what follows, and `execute` does it by compare-and-set. The
 * memory holds nothing that is not in the broker: a reaper that has just started comes to the same conclusions, a little later.
 */
export class Reaper {
  readonly #options: ReaperOptions;
  readonly #leaseMs: number;
  readonly #continuity: ObservationWindow;
  /** By their subjects: a store that has lost its end gives a job's sequence to another one. */
  readonly #watched = new Map<string, WatchedJob>();
  readonly #closed = new AbortController();
  #sweeping: Promise<void>;
  #walkedTo = STREAM_START;
  #walksAnew = false;
  #asksWhoReads = false;
  #isAway = false;

  constructor(options: ReaperOptions) {
    const { broker, leaseMs = PRESENCE_LEASE_MS } = options;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#continuity = new ObservationWindow(leaseMs);
    // A store that has lost its end gives its sequences away again, to jobs that would not be met.
    watchConnection(broker.main, { onUp: () => (this.#walksAnew = true) });
    this.#sweeping = this.#run();
  }

  /** Open jobs that it has met. */
  get watched(): number {
    return this.#watched.size;
  }

  /** Begins nothing more, and waits for what was begun, a second at most. */
  async close(): Promise<void> {
    this.#closed.abort();
    await waitAtMost(CLOSE_MS, this.#sweeping);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    const everyMs = Math.min(SWEEP_MS, this.#leaseMs / SWEEPS_PER_LEASE);
    for (;;) {
      // Nodes that were started at once must not sweep at once.
      await pause(everyMs * (0.8 + 0.4 * Math.random()), signal);
      if (signal.aborted) return;
      await this.#sweep().then(
        () => (this.#isAway = false),
        (thrown: unknown) => this.#interrupted(thrown),
      );
    }
  }

  async #sweep(): Promise<void> {
    const { broker } = this.#options;
    const { brokerTimeMs: nowMs, streamSeq } = await openJobs.readQueueEnd(broker.main);
    if (this.#asksWhoReads) await assertPresenceStored(broker.main);
    this.#continuity.seen(nowMs);
    await this.#walk(streamSeq, nowMs);
    const due = [...this.#watched.values()].filter(({ inspectAtMs: lookAtMs }) => lookAtMs <= nowMs);
    const queue = due.toSorted((a, b) => a.inspectAtMs - b.inspectAtMs).slice(0, MAX_LOOKS);
    await Promise.all(Array.from({ length: LANES }, () => this.#work(queue, nowMs)));
    this.#asksWhoReads = this.#watched.values().some(({ policy }) => policy.on_disconnect !== "keep");
  }

  /** Meets the jobs that have come since. */
  async #walk(endStreamSeq: StreamSeq, nowMs: UnixMs): Promise<void> {
    if (this.#walksAnew || endStreamSeq < this.#walkedTo) this.#walkedTo = STREAM_START;
    this.#walksAnew = false;
    for (
      let met = 0, more = this.#walkedTo < endStreamSeq;
      more && met < MAX_MET && this.#watched.size < MAX_WATCHED && !this.#closed.signal.aborted;
    ) {
      const part = await openJobs.readJobsAfter(this.#options.broker.bulk, this.#walkedTo);
      for (const job of part.jobs) this.#meet(job, nowMs);
      met += part.jobs.length;
      this.#walkedTo = part.streamSeq;
      more = part.more;
    }
  }

  #meet(job: QueuedJob, nowMs: UnixMs): void {
    const key = keyOf(job);
    if (this.#watched.get(key)?.job.streamSeq === job.streamSeq) return;
    const { policy, traceparent, waitsFor } = readReapRequest(job.payload);
    const { trace_id: traceId } = traceIdFields(traceparent);
    this.#watched.set(key, {
      ...watchJob(job, policy, nowMs),
      ...(traceId !== undefined && { traceId }),
      ...(waitsFor.length > 0 && { waitsFor }),
    });
    if (policy.on_disconnect !== "keep") this.#asksWhoReads = true;
  }

  /** Works through one lane. Failed jobs are postponed, so that they do not block the jobs that follow. */
  async #work(queue: WatchedJob[], nowMs: UnixMs): Promise<void> {
    let failures = 0;
    for (let watched = queue.shift(); watched && !this.#closed.signal.aborted; watched = queue.shift()) {
      try {
        await this.#attend(watched, nowMs);
      } catch (thrown) {
        this.#watched.set(keyOf(watched.job), { ...watched, inspectAtMs: plusMs(nowMs, POSTPONE_MS) });
        const error = toRepriseError(thrown);
        if (!error.retryable)
          this.#options.logger.error(
            { ...fieldsOf(watched), err: error },
            "the reaper failed at a generation",
          );
        else if (++failures === MAX_FAILURES) queue.length = 0;
      }
    }
  }

  /** Inspects, executes, and inspects again. */
  async #attend(watched: WatchedJob, nowMs: UnixMs): Promise<void> {
    const { judgedFromMs } = this.#continuity;
    const options = { ...this.#options, leaseMs: this.#leaseMs, nowMs, judgedFromMs, onEnded: this.#onEnded };
    let looked = await inspect(watched, options);
    if (looked.absence) {
      this.#continuity.seen(looked.atMs);
      // The broker may have stood still within the inspection itself.
      looked = { ...looked, absence: { ...looked.absence, judgedFromMs: this.#continuity.judgedFromMs } };
    }
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      const { watched: kept, effect } = plan(watched, looked, this.#leaseMs);
      if (kept) this.#watched.set(keyOf(kept.job), kept);
      else this.#watched.delete(keyOf(watched.job));
      if (!effect) return;
      looked = await execute(effect, watched, looked, options);
    }
  }

  readonly #onEnded = (reason: ReapReason, watched: WatchedJob): void => {
    const { logger, onEnded } = this.#options;
    logger.info({ ...fieldsOf(watched), reason }, "a generation was ended by the reaper");
    onEnded(reason, watched.job.ref);
  };

  #interrupted(thrown: unknown): void {
    const { logger } = this.#options;
    const error = toRepriseError(thrown);
    this.#continuity.broken();
    if (this.#closed.signal.aborted) return;
    if (!error.retryable) logger.error({ err: error }, "a sweep of the reaper failed");
    else if (!this.#isAway) logger.debug({ code: error.code }, "the reaper waits for the broker");
    this.#isAway = true;
  }
}

function keyOf({ model, ref, priority }: OpenJob): string {
  return jobSubject(model, ref, priority);
}

/** Returns the fields of log lines about a generation. */
function fieldsOf({ job, traceId }: WatchedJob) {
  return { generation: job.ref.generation, ...(traceId !== undefined && { trace_id: traceId }) };
}
