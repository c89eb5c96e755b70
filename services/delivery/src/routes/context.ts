import type { AnalyticsClient, AuditClient, Broker, GenerationLog, Hub } from "@reprise/log";
import type { ServedBy } from "@reprise/protocol";
import type { Logger } from "@reprise/service";
import type { StreamTokens } from "@reprise/tenancy";
import type { Authentication } from "../http/auth.ts";
import type { Tracing } from "@reprise/telemetry";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { NodeBlobs } from "../blobs/open-blobs.ts";
import type { CreateGeneration } from "../create/create-generation.ts";
import type { NodeConversations } from "../conversations/open-conversations.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import type { ProjectedCaches } from "../projected/projected-caches.ts";
import type { ReaderRegistry } from "../readers/reader-registry.ts";
import type { FleetWatch } from "../fleet/fleet-watch.ts";
import type { Threads } from "../threads/threads.ts";
import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import type { ReaderTraces } from "../telemetry/reader-traces.ts";
import type { RequestMetrics } from "../telemetry/request-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestTraces } from "../telemetry/request-traces.ts";

/** What the routes work with; made once, by `service.ts`. */
export interface RouteContext {
  readonly authentication: Authentication;
  readonly tokens: StreamTokens;
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly hub: Hub;
  readonly create: CreateGeneration;
  readonly audit: AuditClient;
  readonly analytics: AnalyticsClient;
  readonly projections: ProjectedCaches;
  readonly readers: ReaderRegistry;
  readonly bodies: RequestBodies;
  readonly limits: RequestLimits;
  readonly blobs: NodeBlobs;
  readonly conversations: NodeConversations;
  /** Which generation a chat of another protocol is at. */
  readonly threads: Threads;
  readonly fleet: Pick<FleetWatch, "capabilitiesOf" | "contextTokensOf">;
  readonly shards: number;
  /** The public names by which models can be asked for. */
  readonly modelNames: () => ReadonlySet<string>;
  /** What can be asked of a model; undefined where this node does not know its engine. */
  readonly servedBy: (model: string) => ServedBy | undefined;
  readonly logger: Logger;
  /** What routes find out of a request. */
  readonly notes: RequestNotes;
  readonly requestMetrics: RequestMetrics;
  readonly readerMetrics: ReaderMetrics;
  readonly tracing: Tracing;
  readonly traces: RequestTraces;
  readonly readerTraces: ReaderTraces;
  /** Aborted when the node begins to drain. */
  readonly draining: AbortSignal;
}
