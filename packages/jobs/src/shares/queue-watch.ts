import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { JOBS_STREAM, laneKey, type LaneName, laneOf, modelJobs, queuedJobs } from "@reprise/protocol";
import { HEADER, getStreamInfo, subscribeGuarded } from "@reprise/broker";
import { parseShare, type TenantShare } from "./tenant-share.ts";

/** A job that can be pulled. */
export interface HeardJob extends LaneName {
  /** Where the job is; undefined for one that a worker has given back. */
  readonly streamSeq: number | undefined;
  readonly share: TenantShare | undefined;
}

/** Number of jobs of a lane. */
export interface ListedLane extends LaneName {
  readonly jobs: number;
}

export interface QueueWatchOptions {
  connection: NatsConnection;
  model: string;
  onHeard: (job: HeardJob) => void;
  onError: (error: unknown) => void;
}

/** Tells which lanes have jobs for a model: of each new job at once, which may get lost, and of all of them when asked. */
export class QueueWatch {
  readonly #options: QueueWatchOptions;
  readonly #subscription: Subscription;

  constructor(options: QueueWatchOptions) {
    const { connection, model, onHeard, onError } = options;
    this.#options = options;
    this.#subscription = subscribeGuarded(connection, queuedJobs(model), {
      onMessage: ({ subject, headers }) => {
        const lane = laneOf(subject);
        const seq = headers?.get(HEADER.sequence) ?? "";
        const share = parseShare(headers?.get(HEADER.share) ?? "");
        if (lane) onHeard({ ...lane, streamSeq: seq === "" ? undefined : Number(seq), share });
      },
      onError,
    });
  }

  /**
   * Lists the number of jobs of each lane, including running ones. The broker names each job, so call this rarely.
   * @throws RepriseError `broker_unavailable`
   */
  async list(): Promise<ListedLane[]> {
    const { connection, model } = this.#options;
    const lanes = new Map<string, ListedLane>();
    const filter = { subjects_filter: modelJobs(model) };
    for (let offset = 0, total = 1; offset < total;) {
      const info = await getStreamInfo(connection, JOBS_STREAM, { ...filter, offset });
      const subjects = Object.keys(info.state.subjects ?? {});
      for (const subject of subjects) {
        const lane = laneOf(subject);
        if (!lane) continue;
        const { jobs = 0 } = lanes.get(laneKey(lane)) ?? {};
        lanes.set(laneKey(lane), { ...lane, jobs: jobs + 1 });
      }
      total = subjects.length === 0 ? 0 : info.total;
      offset += subjects.length;
    }
    return [...lanes.values()];
  }

  stop(): void {
    if (!this.#options.connection.isClosed()) this.#subscription.unsubscribe();
  }
}
