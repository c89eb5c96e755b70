import { runAnalytics } from "./analytics.ts";
import { runAppend } from "./append.ts";
import { runArchive } from "./archive.ts";
import { runAudit } from "./audit.ts";
import { runBacklog } from "./backlog.ts";
import { runChurn } from "./churn.ts";
import { runDuplex } from "./duplex.ts";
import { runFair } from "./fair.ts";
import { runS1, runS2 } from "./fan-out.ts";
import { runFirst } from "./first.ts";
import { runFlood } from "./flood.ts";
import { runIdle } from "./idle.ts";
import { runLimits } from "./limits.ts";
import { runModeration } from "./moderation.ts";
import { runObserved } from "./observed.ts";
import { runProtocols } from "./protocols.ts";
import type { RunContext, ScenarioResult } from "./run.ts";
import { runScale } from "./scale.ts";
import { runStalled } from "./stalled.ts";

/** The scenarios by name, in the order in which they run. */
export const SCENARIOS = {
  S1: runS1,
  S2: runS2,
  S3: runBacklog,
  FIRST: runFirst,
  IDLE: runIdle,
  APPEND: runAppend,
  CHURN: runChurn,
  STALLED: runStalled,
  SCALE: runScale,
  PROTOCOLS: runProtocols,
  DUPLEX: runDuplex,
  MODERATION: runModeration,
  AUDIT: runAudit,
  ARCHIVE: runArchive,
  ANALYTICS: runAnalytics,
  OBSERVED: runObserved,
  FLOOD: runFlood,
  FAIR: runFair,
  LIMITS: runLimits,
} as const satisfies Record<string, (context: RunContext) => Promise<ScenarioResult>>;

export type ScenarioName = keyof typeof SCENARIOS;

export const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];

/** Scenarios that `--quick` leaves out. */
export const LONG_SCENARIOS: ReadonlySet<ScenarioName> = new Set([
  "STALLED",
  "SCALE",
  "PROTOCOLS",
  "DUPLEX",
  "AUDIT",
  "ANALYTICS",
  "OBSERVED",
  "FLOOD",
  "FAIR",
]);
