import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { type LaneName, laneOf, RepriseError } from "@reprise/protocol";
import { watchConnection } from "@reprise/broker";
import { RENEW_MS } from "../shares/lane-pulls.ts";
import { QueueListings } from "../shares/queue-listings.ts";
import { QueueWatch } from "../shares/queue-watch.ts";
import { SharedSlots } from "../shares/shared-slots.ts";
import { SlotsExchange } from "../shares/slots-exchange.ts";
import { toDeliveredJob } from "./delivered-job.ts";
import { JobMemory } from "./job-memory.ts";
import type { Job } from "./job.ts";
import { RunningJobs } from "./running-jobs.ts";

export interface PullOptions {
  connection: NatsConnection;
  model: string;
  /** The most jobs of this model that the process runs at a time, besides one batch job of each tenant that is being handed over. */
  slots: number;
  /**
   * That number of the last free slots is not for tenants that have their share of all slots or more, while other tenants have had jobs in the last
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

/**
 * Works off one model's queue, and shares the slots by tenant: see `slot-sharing.ts`. While slots are free, pulls wait at the broker for the
 * next jobs of the tenants that had some lately, so that a job is handed out the moment it arrives.
 * @throws RepriseError `broker_unavailable`
 */
export async function pullJobs(options: PullOptions): Promise<Puller> {
  const { connection, model, slots, ackWaitMs, onSlotTime, onError, reserve = 0 } = options;
  const { memory = new JobMemory(Number.POSITIVE_INFINITY) } = options;
  let isStopped = false;
  const shared = new SharedSlots({
    connection,
    model,
    slots,
    reserve,
    memory,
    ackWaitMs,
    onJob: (msg) => receive(msg, { connection, shared, jobs, onError }),
    onSlotTime,
    onError,
  });
  const onRetry = (lane: LaneName) => void shared.next({ kind: "heard", ...lane });
  const jobs = new RunningJobs({ memory, slots: shared.jobs, run: options.run, onRetry, onError });
  const watch = new QueueWatch({
    connection,
    model,
    onHeard: (job) => void shared.next({ kind: "heard", ...job }),
    onError,
  });
  const list = async () => void shared.next({ kind: "listed", lanes: await watch.list() });
  const listings = new QueueListings({ list, onError });
  const exchange = new SlotsExchange({
    connection,
    model,
    slots: () => (isStopped ? 0 : slots),
    running: () => shared.running(),
    capabilities: options.capabilities,
    contextTokens: options.contextTokens,
    held: () => jobs.count,
    onOthers: (others) => void shared.next({ kind: "others", ...others }),
    onGone: () => listings.expedite(),
    onError,
  });
  const renewals = setInterval(() => {
    shared.pulls.renew();
    shared.next({ kind: "renewed" });
    listings.renewed();
  }, RENEW_MS);
  const forgetMemory = memory.onFree(() => void shared.next({ kind: "room" }));
  watchConnection(connection, {
    onUp() {
      if (isStopped) return;
      shared.next({ kind: "reconnected" });
      shared.pulls.giveUp();
      listings.reconnected();
    },
  });
  const stop = () => {
    if (isStopped) return;
    isStopped = true;
    clearInterval(renewals);
    jobs.stop();
    forgetMemory();
    watch.stop();
    shared.next({ kind: "stopped" });
    // A job that still runs takes its tenant's part of the slots.
    void jobs.idle().then(() => exchange.stop());
    // Jobs that are on their way still come, and are given back at once.
    shared.pulls.drain();
  };
  try {
    await listings.list();
  } catch (error) {
    stop();
    throw error;
  }
  return {
    stop,
    idle: () => jobs.idle(),
    get running() {
      return jobs.count;
    },
    get slotsUsed() {
      return shared.used;
    },
  };
}

interface Receiving extends Pick<PullOptions, "connection" | "onError"> {
  readonly shared: SharedSlots;
  readonly jobs: RunningJobs;
}

/** Runs a job that a pull has brought, or gives it back. */
function receive(msg: Msg, { connection, shared, jobs, onError }: Receiving): void {
  const delivered = toDeliveredJob(connection, msg);
  if (delivered) {
    const { ref, priority, streamSeq, pending, share } = delivered;
    const lane = { tenant: ref.tenant, priority };
    if (shared.next({ kind: "job", ...lane, streamSeq, pending, share }) === "run")
      jobs.start(delivered, lane);
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
  if (lane) shared.next({ kind: "void", ...lane });
}
