import * as blobs from "@reprise/blobs";
import { type Broker } from "@reprise/broker";
import { type GenerationLog } from "@reprise/stream";
import { BLOB_TTL_SECONDS, type TenantId } from "@reprise/protocol";
import type { Metrics } from "@reprise/runtime";
import type { TenantDirectory } from "@reprise/tenancy";
import type { DeliverySettings } from "../config.ts";
import { toAllowedHost } from "../egress/allowed-hosts.ts";
import { EGRESS_PORTS, type EgressPorts } from "../egress/dial.ts";
import type { Egress, EgressTimes } from "../egress/open-url.ts";
import { BlobMetrics } from "./blob-metrics.ts";
import { BlobSweeps } from "./blob-sweeps.ts";
import { createRecordBlob, type RecordBlob } from "./record-blob.ts";
import { TransferSlots } from "./transfer-slots.ts";

/** Options of a node's blobs that no setting names. */
export interface BlobTimes {
  /** Milliseconds between two removals of expired blobs. Default 5 min. */
  blobSweepMs?: number;
  /** Milliseconds that a client may take nothing of a blob that it is sent. Default 60 s. */
  blobStallMs?: number;
  /** Overrides of the ports by which URLs are fetched. */
  egress?: Partial<EgressPorts> & { readonly times?: EgressTimes };
}

/** Ports of the blob routes. */
export interface NodeBlobs {
  readonly storage: blobs.BlobStorage;
  readonly transfers: TransferSlots;
  /** Seconds that a blob is kept if its upload does not set them. */
  readonly ttlSeconds: number;
  readonly stallMs: number;
  readonly metrics: BlobMetrics;
  readonly record: RecordBlob;
  readonly isTenant: (tenant: TenantId) => boolean;
  /** Undefined: https URLs in requests are not fetched. */
  readonly egress: Egress | undefined;
  readonly onError: (error: unknown) => void;
}

export interface NodeBlobsOptions
  extends BlobTimes, Pick<DeliverySettings, "blobTtlSeconds" | "blobTransfers" | "mediaFetchAllow"> {
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly tenants: Pick<TenantDirectory, "find">;
  readonly metrics: Metrics;
  readonly onRefused: () => void;
  readonly onError: (error: unknown) => void;
}

const TRANSFERS = 32;
const STALL_MS = 60_000;

/** Begins to remove what is over, until it is disposed of. */
export function openBlobs(options: NodeBlobsOptions): NodeBlobs & AsyncDisposable {
  const { broker, log, metrics: registry, onRefused, onError } = options;
  const { publish } = log;
  const storage = blobs.createBlobStorage({ broker, publish, budgetMs: () => log.budgetMs });
  const metrics = new BlobMetrics(registry);
  const transfers = new TransferSlots({ max: options.blobTransfers ?? TRANSFERS, onRefused });
  registry.observe("reprise_blob_transfers", () => transfers.used);
  const sweeps = new BlobSweeps({ storage, metrics, everyMs: options.blobSweepMs, onError });
  return {
    storage,
    transfers,
    ttlSeconds: options.blobTtlSeconds ?? BLOB_TTL_SECONDS,
    stallMs: options.blobStallMs ?? STALL_MS,
    metrics,
    record: createRecordBlob(publish, onError),
    isTenant: (tenant) => options.tenants.find(tenant) !== undefined,
    egress: options.mediaFetchAllow && {
      ...EGRESS_PORTS,
      times: {},
      ...options.egress,
      allowed: options.mediaFetchAllow.map(toAllowedHost),
    },
    onError,
    [Symbol.asyncDispose]: () => sweeps[Symbol.asyncDispose](),
  };
}
