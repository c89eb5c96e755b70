export { type Batch, type BatchLimits, LaneReader, SKEW_US } from "./lane-reader.ts";
export { createBrokerFencedStore } from "./broker-fenced-store.ts";
export { type CommitBatch, followLane, SHUTDOWN_MS, retryWhileAway } from "./follow-lane.ts";
export { findLaneStart, type LaneHistory, type LanePosition, type LaneStart } from "./lane-start.ts";
export { type Lanes, runLanes } from "./lanes.ts";
export { countSeqs, mergeRanges, subtractRanges, toRanges } from "./ranges.ts";
