import { recordOps, type Publish } from "@reprise/broker";
import type { BlobRecord } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";

export type BlobCall = "stored" | "joined" | "deleted";
export type RecordBlob = (
  principal: Pick<Principal, "tenant" | "holder">,
  blob: BlobRecord,
  call: BlobCall,
) => Promise<void>;

/** Tells auditors what was uploaded or deleted, by its hash. A record that can't be stored in time does not undo what was done. */
export function createRecordBlob(publish: Publish, onError: (error: unknown) => void): RecordBlob {
  return async ({ tenant, holder }, { id, sha256, bytes, type }, call) => {
    const at = new Date().toISOString();
    const record = { kind: "blob", at, by: holder, call, blob: id, sha256, bytes, type } as const;
    await recordOps(publish, { tenant }, record).catch(onError);
  };
}
