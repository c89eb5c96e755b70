export { type QueueDepth, QueueDepths } from "./fleet/queue-depths.ts";
export { type ModelWorkers, WorkersWatch } from "./fleet/workers-watch.ts";
export { keepRecord, readKeptRecord } from "./leases/kept-record.ts";
export { holdLeases } from "./leases/leases.ts";
export {
  subscribePresence,
  PRESENCE_LEASE_MS,
  type PresenceRecord,
  assertPresenceStored,
  decodePresenceRecord,
  publishPresence,
  readPresence,
} from "./presence/presence-records.ts";
export { enqueueJob } from "./queue/enqueue-job.ts";
export { answerHolderQueries, isHeld } from "./queue/job-holder.ts";
export { JobMemory } from "./queue/job-memory.ts";
export type { Job } from "./queue/job.ts";
export * as openJobs from "./queue/open-jobs.ts";
export type { OpenJob, QueuedJob } from "./queue/open-jobs.ts";
export { type Puller, pullJobs } from "./queue/pull-jobs.ts";
export type { TenantShare } from "./shares/tenant-share.ts";
