import type { WorkShares } from "@reprise/async";
import type { Broker } from "@reprise/broker";
import type { GenerationLog, StoredEvent } from "@reprise/stream";
import type { TenantId } from "@reprise/protocol";
import type { RuleSet } from "@reprise/moderation";
import type { Tracing } from "@reprise/runtime/telemetry";
import type { ClassifyWindow } from "./classifier-runs.ts";

/** An event as a consumer has it. */
export type LogEvent = Pick<StoredEvent, "payload" | "streamSeq">;

/** The dependencies for judging a generation. */
export interface ModeratorContext {
  readonly connection: Broker["main"];
  readonly log: GenerationLog;
  /** Undefined for a set that is not kept any more. */
  readonly readRules: (tenant: TenantId, id: string) => Promise<RuleSet | undefined>;
  /** Shares of the tenants in the work of judging. */
  readonly shares: WorkShares;
  readonly classify: ClassifyWindow;
  readonly tracing: Tracing;
  /** Called for every event that moderation has appended, by its type. */
  readonly onDecided: (type: string) => void;
  readonly onError: (error: unknown) => void;
}
