import type * as blobs from "@reprise/blobs";
import type { Broker } from "@reprise/broker";
import type { AppendPressure, GenerationLog, LogSnapshot } from "@reprise/stream";
import type { GenerationId, TenantId, WorkerId } from "@reprise/protocol";
import type { BudgetLedger } from "@reprise/tenancy";
import type { Tracing } from "@reprise/runtime/telemetry";
import type { MediaStore } from "../media/open-media.ts";
import type { InputJudge } from "./turn/input-gate.ts";
import type { EngineReport } from "./turn/engine-report.ts";
import type { WorkerMetrics } from "./metrics/worker-metrics.ts";
import type { RunLog } from "./log/run-log.ts";

/** The dependencies that all runs of a worker share. */
export interface RunContext {
  readonly connection: Broker["main"];
  readonly reads: Broker["reads"];
  readonly log: GenerationLog;
  /** The pressure on this worker's appends, by which deltas are held. */
  readonly pressure: AppendPressure;
  /** The media that requests name. Its storage asks the broker once: a turn asks again, in time that is not the engine's. */
  readonly media: MediaStore;
  /** Storage of the media that models make. */
  readonly output: blobs.BlobStorage;
  readonly inputJudge: InputJudge;
  readonly worker: WorkerId;
  readonly ackWaitMs: number;
  /** The ledger of the tenants' budgets. */
  readonly ledger: BudgetLedger;
  /** A budget of the tenant has ended a generation. */
  readonly onCutOff: (tenant: TenantId) => void;
  readonly tracing: Tracing;
  readonly metrics: WorkerMetrics;
  readonly onError: (error: unknown) => void;
  readonly onEngineReport: (report: EngineReport) => void;
  /** An engine of this public name has answered to its end. */
  readonly onEngineAnswered: (model: string) => void;
  /** Aborted when the worker is to hand its jobs over. */
  readonly handover: AbortSignal;
  /** Time of the last reconnect, by `performance.now()`; infinity while the connection is away. */
  readonly connectedAtMs: () => number;
  /** The runs of this worker: synced when the connection comes back, and reported to other workers that ask. */
  readonly running: Map<GenerationId, Pick<RunLog, "appender">>;
}

/**
 * The result of a run. `completed` and `failed`: by the terminal event that it appended. `stopped`: by another writer's terminal
 * event. `superseded`: by a higher attempt. `handed_over`: the job was given back. `held`: the generation is run already, by this
 * worker or by another one whose heartbeats have not come through. `nothing_to_do`: the generation had ended.
 */
export type RunResult =
  | "completed"
  | "failed"
  | "stopped"
  | "superseded"
  | "handed_over"
  | "held"
  | "nothing_to_do";

/** A plan that the log has overtaken, and the log as it is now; undefined where it has to be read again. */
export interface StalePlan {
  snapshot: LogSnapshot | undefined;
}
