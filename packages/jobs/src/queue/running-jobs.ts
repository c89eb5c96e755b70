import type { LaneName } from "@reprise/protocol";
import type { JobSlots } from "../shares/job-slots.ts";
import type { DeliveredJob } from "./delivered-job.ts";
import type { JobMemory } from "./job-memory.ts";
import type { Job } from "./job.ts";

export interface RunningJobsOptions {
  memory: JobMemory;
  slots: JobSlots;
  /** Runs one job. A rejection is reported and releases the job. */
  run: (job: Job) => Promise<void>;
  /** Called when a job whose run has failed can be pulled again. */
  onRetry: (lane: LaneName) => void;
  onError: (error: unknown) => void;
}

/** After so long a job whose run has failed is handed out again. */
const RETRY_MS = 1_000;

/** The jobs that run in this process. Each has a slot, which it may let go of for a while, and holds its request's bytes until it ends. */
export class RunningJobs {
  readonly #options: RunningJobsOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #retries = new Set<NodeJS.Timeout>();
  #isStopped = false;

  constructor(options: RunningJobsOptions) {
    this.#options = options;
  }

  /** Number of jobs, parked ones included. */
  get count(): number {
    return this.#running.size;
  }

  start(delivered: DeliveredJob, lane: LaneName): void {
    const { memory, slots, run, onError } = this.#options;
    const slot = slots.start(lane);
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
        this.#retryLater(lane);
      })
      .finally(() => {
        this.#running.delete(ended);
        memory.release(tenant, bytes);
        slot.end();
      });
    this.#running.add(ended);
  }

  /** Resolves when no job runs any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Calls back for no more failed jobs. Running jobs continue. */
  stop(): void {
    this.#isStopped = true;
    for (const retry of this.#retries) clearTimeout(retry);
  }

  /** The broker does not say when a job can be pulled that was given back for a while. */
  #retryLater(lane: LaneName): void {
    if (this.#isStopped) return;
    const retry = setTimeout(() => {
      this.#retries.delete(retry);
      this.#options.onRetry(lane);
    }, RETRY_MS);
    this.#retries.add(retry);
  }
}
