export { BUCKETS, MAX_VALUE, RELATIVE_ERROR } from "./sketch/bucket.ts";
export { decodeSketch, encodeSketch } from "./sketch/sketch-codec.ts";
export { Sketch, type SketchSummary } from "./sketch/sketch.ts";
export { type EncodedFold, GenerationFold, STALL_US } from "./fold/generation-fold.ts";
export type { GenerationRow } from "./rows/generation-row.ts";
export { fromBase64, toBase64 } from "./base64.ts";
export { costOf, formatCost, type Price, type PricedTokens, priceSchema } from "./price/price.ts";
export { type LagoEvent, toLagoEvent } from "./usage/lago-event.ts";
export { toUsageEvent, type UsageData, type UsageEvent, type UsageOptions } from "./usage/usage-event.ts";
