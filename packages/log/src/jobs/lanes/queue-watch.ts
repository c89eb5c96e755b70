import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { JOBS_STREAM, laneTenant, modelJobs, queuedJobs, type TenantId } from "@reprise/protocol";
import { HEADER } from "../../nats/header.ts";
import { getStreamInfo } from "../../nats/stream-api.ts";
import { parseShare, type TenantShare } from "./tenant-share.ts";
import { subscribeGuarded } from "../../nats/subscribe-guarded.ts";

/** A job that can be pulled. */
export interface HeardJob {
  readonly tenant: TenantId;
  /** Where the job is; undefined for one that a worker has given back. */
  readonly streamSeq: number | undefined;
  readonly share: TenantShare | undefined;
}

export interface QueueWatchOptions {
  connection: NatsConnection;
  model: string;
  onHeard: (job: HeardJob) => void;
  onError: (error: unknown) => void;
}

/** Tells which tenants have jobs for a model: of each new job at once, which may get lost, and of all of them when asked. */
export class QueueWatch {
  readonly #options: QueueWatchOptions;
  readonly #subscription: Subscription;

  constructor(options: QueueWatchOptions) {
    const { connection, model, onHeard, onError } = options;
    this.#options = options;
    this.#subscription = subscribeGuarded(connection, queuedJobs(model), {
      onMessage: ({ subject, headers }) => {
        const tenant = laneTenant(subject);
        const seq = headers?.get(HEADER.sequence) ?? "";
        const share = parseShare(headers?.get(HEADER.share) ?? "");
        if (tenant) onHeard({ tenant, streamSeq: seq === "" ? undefined : Number(seq), share });
      },
      onError,
    });
  }

  /**
   * How many jobs each tenant has, those that run included. The broker names each job, so this is for now and then.
   * @throws RepriseError `broker_unavailable`
   */
  async list(): Promise<Map<TenantId, number>> {
    const { connection, model } = this.#options;
    const jobs = new Map<TenantId, number>();
    const filter = { subjects_filter: modelJobs(model) };
    for (let offset = 0, total = 1; offset < total;) {
      const info = await getStreamInfo(connection, JOBS_STREAM, { ...filter, offset });
      const subjects = Object.keys(info.state.subjects ?? {});
      for (const subject of subjects) {
        const tenant = laneTenant(subject);
        if (tenant) jobs.set(tenant, (jobs.get(tenant) ?? 0) + 1);
      }
      total = subjects.length === 0 ? 0 : info.total;
      offset += subjects.length;
    }
    return jobs;
  }

  stop(): void {
    if (!this.#options.connection.isClosed()) this.#subscription.unsubscribe();
  }
}
