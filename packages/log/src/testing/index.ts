/* What tests outside this package read of what production code writes. */

export { decodePresenceRecord } from "../presence/presence-records.ts";
export { subscribeVerdicts } from "../moderation/verdicts.ts";
export { getStreamInfo } from "../nats/stream-api.ts";
