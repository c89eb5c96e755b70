import type { ScenarioName } from "../options.ts";
import { type AnalyticsResult, runAnalytics } from "./analytics/analytics.ts";
import { type ObservedResult, runObserved } from "./analytics/observed.ts";
import { type AppendResult, runAppend } from "./append.ts";
import { type ArchiveResult, runArchive } from "./audit/archive.ts";
import { type AuditResult, runAudit } from "./audit/audit.ts";
import { type BacklogResult, runBacklog } from "./backlog.ts";
import { type ChurnResult, runChurn } from "./churn.ts";
import { type FairResult, runFair } from "./tenants/fair.ts";
import { type FanOutResult, runFanOut } from "./fan-out.ts";
import { type FloodResult, runFlood } from "./tenants/flood.ts";
import { type FirstResult, runFirst } from "./first.ts";
import { type IdleResult, runIdle } from "./idle.ts";
import { type ModerationResult, runModeration } from "./moderation/moderation.ts";
import { type RetractLagResult, runRetractLag } from "./moderation/retract-lag.ts";
import { type RulesResult, runRules } from "./moderation/rules.ts";
import { type LimitsResult, runLimits } from "./tenants/limits.ts";
import { type ProtocolsResult, runProtocols } from "./protocols.ts";
import type { RunContext } from "./run-context.ts";
import { runScale, type ScaleResult } from "./scale.ts";
import { runStalled, type StalledResult } from "./stalled.ts";
import type { TraceResult } from "./trace/trace.ts";

export type ScenarioResult =
  | FanOutResult
  | BacklogResult
  | FirstResult
  | IdleResult
  | AppendResult
  | ChurnResult
  | StalledResult
  | ScaleResult
  | ProtocolsResult
  | ModerationResult
  | RetractLagResult
  | RulesResult
  | AuditResult
  | ArchiveResult
  | AnalyticsResult
  | ObservedResult
  | FloodResult
  | FairResult
  | LimitsResult
  | TraceResult;

/** The scenarios by name. */
export const RUN: Readonly<Record<ScenarioName, (context: RunContext) => Promise<ScenarioResult>>> = {
  S1: (context) => runFanOut("S1", context),
  S2: (context) => runFanOut("S2", context),
  S3: runBacklog,
  FIRST: runFirst,
  IDLE: runIdle,
  APPEND: runAppend,
  CHURN: runChurn,
  STALLED: runStalled,
  SCALE: runScale,
  PROTOCOLS: runProtocols,
  MODERATION: runModeration,
  "RETRACT-LAG": runRetractLag,
  RULES: runRules,
  AUDIT: runAudit,
  ARCHIVE: runArchive,
  ANALYTICS: runAnalytics,
  OBSERVED: runObserved,
  FLOOD: runFlood,
  FAIR: runFair,
  LIMITS: runLimits,
};
