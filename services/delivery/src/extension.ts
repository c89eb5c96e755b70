import type { GenerationLog } from "@reprise/stream";
import type { Turns } from "./create/turns.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import type { RequestBlobs } from "./models/request-blobs.ts";
import type { WaitedUntil } from "./reaper/inspect.ts";
import type { ResponseTurns } from "./routes/openai/responses/response-turns.ts";
import type { ApiPorts, MoreRoutes } from "./server/api-routes.ts";

/** Part of a delivery node that can be left out. `extensions.ts` lists those that a node has. */
export interface Extension {
  /** Opens what the extension keeps open. Extensions are closed in reverse order. */
  readonly open: (options: ExtensionOptions) => OpenExtension;
}

export interface ExtensionOptions extends Pick<
  DeliveryOptions,
  | "blobStallMs"
  | "blobSweepMs"
  | "blobTransfers"
  | "broker"
  | "egress"
  | "mediaFetchAllow"
  | "metrics"
  | "retentionMs"
  | "tenants"
> {
  readonly log: GenerationLog;
  readonly blobTtlSeconds: number;
  /** Called for a request that is refused because the node is overloaded. */
  readonly onRefused: () => void;
  readonly onError: (error: unknown) => void;
}

export interface OpenExtension extends AsyncDisposable {
  readonly blobs?: RequestBlobs;
  /** Returns what the extension adds to the node, once all else is open. */
  serve(ports: NodePorts): NodeParts;
}

export type NodePorts = Pick<
  ApiPorts,
  | "audit"
  | "authentication"
  | "blobs"
  | "bodies"
  | "broker"
  | "draining"
  | "fleet"
  | "hub"
  | "limits"
  | "log"
  | "logger"
  | "modelNames"
  | "notes"
  | "readers"
  | "servedBy"
  | "shards"
>;

export interface NodeParts {
  readonly routes: MoreRoutes;
  readonly turns?: Turns;
  readonly responseTurns?: ResponseTurns;
  readonly waitedUntil?: WaitedUntil;
}

/** Returns a part that one extension at most brings; undefined if none does. @throws Error if several do */
export function partOf<T, K extends keyof T & string>(extensions: readonly T[], name: K): T[K] | undefined {
  const [one, ...others] = extensions.filter((each) => each[name] !== undefined);
  if (others.length > 0) throw new Error(`${others.length + 1} extensions bring ${name}; a node takes one.`);
  return one?.[name];
}
