export type { Batch } from "./batch.ts";
export { createBrokerFencedStore } from "./broker-fenced-store.ts";
export { SKEW_US } from "./clock-skew.ts";
export { type CommitBatch, followLane, SHUTDOWN_MS } from "./follow-lane.ts";
export { type BatchLimits, LaneReader } from "./lane-reader.ts";
export { findLaneStart, type LaneHistory, type LanePosition, type LaneStart } from "./lane-start.ts";
export { type Lanes, runLanes } from "./lanes.ts";
export { retryWhileAway } from "./retry-while-away.ts";
export { countSeqs, mergeRanges, subtractRanges, toRanges } from "./ranges.ts";
