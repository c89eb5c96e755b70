export { decodeSketch, encodeSketch } from "./sketch/sketch-codec.ts";
export { Sketch, type SketchSummary } from "./sketch/sketch.ts";
export { type EncodedFold, GenerationFold } from "./fold/generation-fold.ts";
export { toGenerationReport } from "./rows/generation-report.ts";
export type { DeliveredRow, GenerationRow } from "./rows/generation-row.ts";
export {
  attemptRow,
  clientRow,
  connectionRow,
  type DeliveryRow,
  type EncodedConnection,
  encodeConnection,
  lostConnectionRow,
} from "./deliveries/delivery-row.ts";
export { reachOf } from "./rows/reach.ts";
export type { GenerationDelivery } from "./deliveries/generation-delivery.ts";
export { fromBase64, toBase64 } from "./base64.ts";
export { costOf, formatCost, type Price, type PricedTokens, priceSchema } from "./price/price.ts";
export { toUsageEvent, type UsageData, type UsageEvent, type UsageOptions } from "./usage/usage-event.ts";
export { GenerationSummary } from "./summary/generation-summary.ts";
export { FirstGroups } from "./summary/first-groups.ts";
export { type Accumulator, type Group, type GroupKey, Groups } from "./summary/groups.ts";
export { DEFAULT_TARGETS, type Targets } from "./summary/targets.ts";
export { UsageTotals } from "./summary/usage-totals.ts";
export { BUDGET_CLASSES } from "./latency-budget/budget-class.ts";
export { LatencyBudget } from "./latency-budget/latency-budget.ts";
export { toBudgetSample } from "./latency-budget/to-budget-sample.ts";
