export { BUCKETS, MAX_VALUE, RELATIVE_ERROR } from "./sketch/bucket.ts";
export { decodeSketch, encodeSketch } from "./sketch/sketch-codec.ts";
export { Sketch, type SketchSummary } from "./sketch/sketch.ts";
export { type EncodedFold, GenerationFold, STALL_US } from "./fold/generation-fold.ts";
export { toGenerationReport } from "./rows/generation-report.ts";
export type { GenerationRow } from "./rows/generation-row.ts";
export {
  attemptRow,
  clientRow,
  connectionRow,
  type DeliveryRow,
} from "./deliveries/delivery-row.ts";
export type { GenerationDelivery } from "./deliveries/generation-delivery.ts";
export {
  type EncodedConnection,
  encodeConnection,
  lostConnectionRow,
} from "./deliveries/open-connection.ts";
export { fromBase64, toBase64 } from "./base64.ts";
export { costOf, formatCost, type Price, type PricedTokens, priceSchema } from "./price/price.ts";
export { type LagoEvent, toLagoEvent } from "./usage/lago-event.ts";
export { toUsageEvent, type UsageData, type UsageEvent, type UsageOptions } from "./usage/usage-event.ts";
export { GenerationSummary } from "./summary/generation-summary.ts";
export { type Accumulator, Groups } from "./summary/groups.ts";
export { DEFAULT_TARGETS, type Targets } from "./summary/targets.ts";
export { UsageTotals } from "./summary/usage-totals.ts";
export { BUDGET_CLASSES } from "./latency-budget/budget-class.ts";
export { LatencyBudget } from "./latency-budget/latency-budget.ts";
export { toBudgetSample } from "./latency-budget/to-budget-sample.ts";
