import { JetStreamApiError } from "@nats-io/jetstream";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { type LaneName, laneOf, RepriseError } from "@reprise/protocol";
import { watchConnection } from "@reprise/broker";
import type { Job } from "./job.ts";
import { type DeliveredJob, toDeliveredJob } from "./delivered-job.ts";
import { JobMemory } from "./job-memory.ts";
import { JobSlots } from "../shares/job-slots.ts";
import { LanePulls, RENEW_MS } from "../shares/lane-pulls.ts";
import { type HeardJob, QueueWatch } from "../shares/queue-watch.ts";
import { type SharingInput, SlotSharing } from "../shares/slot-sharing.ts";
import { SlotsExchange } from "../shares/slots-exchange.ts";

export interface PullOptions {
  connection: NatsConnection;
  model: string;
  /** The most jobs of this model that the process runs at a time, besides one batch job of each tenant that is being handed over. */
  slots: number;
  /**
   * So many of the last free slots are not for tenants that have their share of all slots or more, while other tenants have had jobs in the last
   * five minutes: those need not wait until a slot is free. None by default.
   */
  reserve?: number;
  /** Memory for the requests of running jobs, parked ones included; while there is no room for one more, none is asked for. Unlimited by default. */
  memory?: JobMemory;
  /** After how long without a heartbeat the broker hands a job to another worker. */
  ackWaitMs: number;
  /** Capabilities of the model's engine here, announced to delivery. Default: not announced. */
  capabilities?: () => readonly string[];
  /** Number of tokens that the model takes here, announced to delivery. Default: not announced. */
  contextTokens?: () => number | undefined;
  /** Runs one job. Its slot is free again when the promise settles; a rejection is reported and releases the job. */
  run: (job: Job) => Promise<void>;
  /** Called once a second at least, with the time that jobs have had slots since, summed over slots. */
  onSlotTime?: (ms: number) => void;
  onError: (error: unknown) => void;
}

export interface Puller {
  /** Asks for no more jobs. Running jobs continue. */
  stop(): void;
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>;
  readonly running: number;
  /** Slots that jobs have now: one that is parked has none. */
  readonly slotsUsed: number;
}

/** A listing finds the jobs whose hint was lost, and those of dead workers in lanes that no pull waits at. */
const LIST_RENEWALS = 15;
/** After so long a job whose run has failed is handed out again. */
const RETRY_MS = 1_000;

/**
 * Works off one model's queue, and shares the slots by tenant: see `slot-sharing.ts`. While slots are free, pulls wait at the broker for the
 * next jobs of the tenants that had some lately, so that a job is handed out the moment it arrives.
 * @throws RepriseError `broker_unavailable`
 */
export async function pullJobs(options: PullOptions): Promise<Puller> {
  const { connection, model, slots, ackWaitMs, run, onError, reserve = 0 } = options;
  const { memory = new JobMemory(Number.POSITIVE_INFINITY) } = options;
  const running = new Set<Promise<void>>();
  const sharing = new SlotSharing({ slots, reserve });
  const jobSlots = new JobSlots((input) => void next(input));
  const onHeard = (job: HeardJob) => void next({ kind: "heard", ...job });
  const watch = new QueueWatch({ connection, model, onHeard, onError });
  const pulls = new LanePulls({
    connection,
    model,
    ackWaitMs,
    onJob: receive,
    onEnded: (lane, reason) => void next({ kind: "ended", ...lane, reason }),
    onError,
  });
  const exchange = new SlotsExchange({
    connection,
    model,
    slots: () => (stopped ? 0 : slots),
    running: () => sharing.running(),
    capabilities: options.capabilities,
    contextTokens: options.contextTokens,
    held: () => running.size,
    onOthers: (others) => void next({ kind: "others", ...others }),
    onGone: () => (renewalsToList = 0),
    onError,
  });
  let stopped = false;
  let slotsUsed = 0;
  let countedAtMs = performance.now();
  const retries = new Set<NodeJS.Timeout>();
  let renewalsToList = LIST_RENEWALS;
  let failedListings = 0;

  function next(input: SharingInput) {
    const now = performance.now();
    if (slotsUsed > 0) options.onSlotTime?.((now - countedAtMs) * slotsUsed);
    const effects = sharing.next(input, now, {
      ...pulls.room(memory.free),
      isFor: (tenant) => memory.hasRoomFor(tenant),
    });
    countedAtMs = now;
    slotsUsed = sumOf(sharing.running().values());
    pulls.make(effects.pulls, memory.free);
    for (const tenant of effects.yields) jobSlots.takeFrom(tenant);
    for (const lane of effects.resumed) jobSlots.resume(lane);
    return effects.job;
  }

  function receive(msg: Msg): void {
    const delivered = toDeliveredJob(connection, msg);
    if (delivered) {
      const { streamSeq, pending, share } = delivered;
      const lane = laneOfJob(delivered);
      if (next({ kind: "job", ...lane, streamSeq, pending, share }) === "run") start(delivered, lane);
      else delivered.release();
      return;
    }
    onError(
      new RepriseError(
        "protocol_violation",
        `"${msg.subject}" is not a job's subject, or its job is a copy of another message; it was terminated (+TERM).`,
      ),
    );
    const lane = laneOf(msg.subject);
    if (lane) next({ kind: "void", ...lane });
  }

  async function list(): Promise<void> {
    renewalsToList = LIST_RENEWALS;
    next({ kind: "listed", lanes: await watch.list() });
  }

  function renew(): void {
    pulls.renew();
    next({ kind: "renewed" });
    if (--renewalsToList <= 0) void listAgain();
  }

  /** After a failure the pause until the next listing starts at one renewal and doubles. */
  async function listAgain(): Promise<void> {
    try {
      await list();
      failedListings = 0;
    } catch (error) {
      if (!isUnanswered(error)) onError(error);
      renewalsToList = Math.min(renewalsToList, 2 ** failedListings++);
    }
  }

  /** The broker does not say when a job can be pulled that was given back for a while. */
  function retryLater(lane: LaneName): void {
    if (stopped) return;
    const retry = setTimeout(() => {
      retries.delete(retry);
      next({ kind: "heard", ...lane });
    }, RETRY_MS);
    retries.add(retry);
  }

  function start(delivered: DeliveredJob, lane: LaneName): void {
    const slot = jobSlots.start(lane);
    const { tenant } = lane;
    const job: Job = Object.assign(delivered, {
      park: () => slot.park(),
      hasRoomToWait: () => slot.isParked && memory.hasRoomFor(tenant),
      unpark: (signal: AbortSignal) => slot.unpark(signal),
      setYield: (onYield: (() => void) | undefined) => slot.setYield(onYield),
      hasLostSlot: () => slot.isLost,
    });
    const bytes = delivered.payload.length;
    memory.hold(tenant, bytes);
    const ended = (async () => run(job))()
      .catch((error: unknown) => {
        onError(error);
        job.release(RETRY_MS);
        retryLater(lane);
      })
      .finally(() => {
        running.delete(ended);
        memory.release(tenant, bytes);
        slot.end();
      });
    running.add(ended);
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running);
  }

  const timer = setInterval(renew, RENEW_MS);
  const forgetMemory = memory.onFree(() => void next({ kind: "room" }));
  watchConnection(connection, {
    onUp() {
      if (stopped) return;
      next({ kind: "reconnected" });
      pulls.giveUp();
      renewalsToList = 0;
      failedListings = 0;
    },
  });
  function stop(): void {
    if (stopped) return;
    stopped = true;
    clearInterval(timer);
    for (const retry of retries) clearTimeout(retry);
    forgetMemory();
    watch.stop();
    next({ kind: "stopped" });
    // What still runs takes its tenant's part of the slots.
    void idle().then(() => exchange.stop());
    // Jobs that are on their way still come, and are given back at once.
    pulls.drain();
  }
  try {
    await list();
  } catch (error) {
    stop();
    throw error;
  }
  return {
    stop,
    idle,
    get running() {
      return running.size;
    },
    get slotsUsed() {
      return slotsUsed;
    },
  };
}

function sumOf(counts: Iterable<number>): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}

function laneOfJob({ ref: { tenant }, priority }: DeliveredJob): LaneName {
  return { tenant, priority };
}

/** True if the broker is away, or has no leader for now (503). Any other refusal returns false. */
function isUnanswered(error: unknown): boolean {
  return (
    error instanceof RepriseError &&
    error.code === "broker_unavailable" &&
    !(error.cause instanceof JetStreamApiError && error.cause.status !== 503)
  );
}
