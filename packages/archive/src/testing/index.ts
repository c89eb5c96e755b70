/** For tests of what archives lie in: other packages' as well. */
export { describeBlobStore, type StoreTarget } from "./blob-store-conformance.ts";
export { createFaultyStore, dyingAt, type FaultPlan, randomFaults } from "./faulty-store.ts";
export { createMemoryStore } from "./memory-store.ts";
export { type S3Fault, type S3Server, type S3ServerOptions, startS3Server } from "./s3-server.ts";
export { createHistory, type History, LOG, ORIGIN } from "./witnessed-history.ts";
