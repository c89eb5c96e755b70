export { abortAfter, raceAbort } from "./abort.ts";
export { OwnerQueues } from "./owner-queues.ts";
export { pause, waitAtMost } from "./pause.ts";
export { backoffMs, retry, type RetryOptions, retryRejected } from "./retry.ts";
export { Semaphore } from "./semaphore.ts";
export { TimeSlices } from "./time-slices.ts";
export { WorkShares, type WorkSharesOptions } from "./work-shares.ts";
