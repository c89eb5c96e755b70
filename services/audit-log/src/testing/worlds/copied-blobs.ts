import { type BlobCopy, type BlobStore, openCopy, readCopy } from "@reprise/archive";
import * as blobs from "@reprise/blobs";
import { type Broker, type Publish, recordOps } from "@reprise/broker";
import { type BlobRecord, type GenerationId, OPS_STREAM, type TenantId } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import type { LifecycleContext } from "../../lifecycle/lifecycle-context.ts";

/** Blobs of tenants, and what the archive has of them. */
export interface CopyingWorld {
  readonly storage: blobs.BlobStorage;
  /** Stores a blob, as an upload does, or a model; no auditor is told. */
  readonly make: (
    tenant: TenantId,
    content: Uint8Array,
    owner?: { subject?: string; generation?: GenerationId },
  ) => Promise<BlobRecord>;
  /** Tells auditors that it is there. */
  readonly tell: (tenant: TenantId, blob: BlobRecord) => Promise<void>;
  /** Resolves once the archive has come to the end of OPS. */
  archived(): Promise<void>;
  /** The archive's copies of a tenant's blobs. */
  copies(tenant: TenantId): Promise<BlobCopy[]>;
  /** Returns the content of a copy. */
  contentOf(tenant: TenantId, copy: BlobCopy): Promise<Buffer>;
  /** Keys of the parts that are stored. */
  parts(): Promise<string[]>;
}

/** The source and the target of copied blobs. */
export interface CopyingPlace {
  readonly live: { readonly broker: Broker; readonly log: { readonly publish: Publish } };
  readonly store: BlobStore;
  openContext(): Promise<Pick<LifecycleContext, "archive" | "keyring">>;
}

export function openCopyingWorld(world: CopyingPlace): CopyingWorld {
  const { broker, log } = world.live;
  const storage = blobs.createBlobStorage({ broker, publish: log.publish });
  let told = 0;
  return {
    storage,
    async make(tenant, content, { subject, generation } = {}) {
      const upload = await blobs.beginUpload(storage, tenant, {
        type: "application/octet-stream",
        length: undefined,
        maxBytes: 100_000_000,
        quotaBytes: 1_000_000_000,
        by: "ann",
        subject,
        ...(generation && { generation }),
        ttlSeconds: 3_600,
      });
      const source = async function* () {
        yield content;
      };
      const sum = await blobs.receiveContent(storage, upload, source());
      return (await blobs.finishUpload(storage, upload, sum)).blob;
    },
    async tell(tenant, { id, sha256, bytes, type, generation }) {
      const at = new Date().toISOString();
      const record = { kind: "blob", at, by: "ann", call: "stored", blob: id, sha256, bytes, type } as const;
      const topic = { tenant, generation: generation as GenerationId | undefined };
      if (!(await recordOps(log.publish, topic, record))) throw new Error("not recorded");
      told++;
    },
    async archived() {
      const { archive } = await world.openContext();
      await eventually(async () => {
        await archive.refresh();
        const last = archive.state.lanes.get(OPS_STREAM)?.last ?? 0;
        if (last < told) throw new Error(`archived up to ${last} of ${told}`);
      });
    },
    async copies(tenant) {
      const { archive } = await world.openContext();
      return [...archive.state.copies(tenant).values()];
    },
    async contentOf(tenant, copy) {
      const { keyring } = await world.openContext();
      const key = await keyring.open(tenant, copy.kid);
      if (typeof key === "string") throw new Error(`its key is ${key}`);
      return Buffer.concat(await Array.fromAsync(openCopy(copy, readCopy(world.store, copy), key)));
    },
    parts: () => Array.fromAsync(world.store.list("blob/"), ({ key }) => key),
  };
}
