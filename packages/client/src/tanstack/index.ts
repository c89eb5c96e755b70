export { durableRun, type DurableRun, type RunRequest, type StartOptions } from "./durable-run.ts";
export type { DurableChunk } from "./read-chunks.ts";
