import * as blobs from "@reprise/blobs";
import type { TenantId } from "@reprise/protocol";
import { toAllowedHost } from "../../egress/allowed-hosts.ts";
import { EGRESS_PORTS } from "../../egress/dial.ts";
import type { Egress } from "../../egress/open-url.ts";
import type { ExtensionOptions } from "../../extension.ts";
import { BlobMetrics } from "./blob-metrics.ts";
import { BlobSweeps } from "./blob-sweeps.ts";
import { createRecordBlob, type RecordBlob } from "./record-blob.ts";
import { TransferSlots } from "./transfer-slots.ts";

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

const TRANSFERS = 32;
const STALL_MS = 60_000;

/** Begins to remove what is over, until it is disposed of. */
export function openBlobs(options: ExtensionOptions): NodeBlobs & AsyncDisposable {
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
    ttlSeconds: options.blobTtlSeconds,
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
