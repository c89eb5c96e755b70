import type { AuditClient, Broker, GenerationLog, Hub, RuleSetStore } from "@reprise/log";
import type { Logger } from "@reprise/service";
import type { LargeCreates } from "../large-creates/large-creates.ts";
import type { Authentication } from "../http/auth.ts";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { ReaderRegistry } from "../readers/reader-registry.ts";

/** What the routes work with; made once, by `service.ts`. */
export interface RouteContext {
  readonly authentication: Authentication;
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly hub: Hub;
  readonly ruleSets: RuleSetStore;
  readonly audit: AuditClient;
  readonly readers: ReaderRegistry;
  readonly bodies: RequestBodies;
  readonly shards: number;
  /** Where large requests to create a generation are worked on. */
  readonly largeCreates: LargeCreates;
  /** The public names of the models that can be asked for. */
  readonly models: () => ReadonlySet<string>;
  /** The classifiers that rules may name; undefined where this node does not know them. */
  readonly classifiers: () => ReadonlySet<string> | undefined;
  readonly logger: Logger;
  /** Aborted when the node begins to drain. */
  readonly draining: AbortSignal;
}
