import * as blobs from "@reprise/blobs";
import { logErasure } from "@reprise/stream";
import {
  BLOB_CHUNKS_STREAM,
  BLOB_CHUNKS_SUBJECTS,
  BLOBS_STREAM,
  BLOBS_SUBJECTS,
  type TenantId,
} from "@reprise/protocol";
import { subjectTag } from "../records/search-tags.ts";
import type { LifecycleContext } from "./lifecycle-context.ts";

/** In whose newest files the bytes of a blob, and its subject, may lie. */
const FILLED = [
  { stream: BLOB_CHUNKS_STREAM, subjects: BLOB_CHUNKS_SUBJECTS },
  { stream: BLOBS_STREAM, subjects: BLOBS_SUBJECTS },
];

/**
 * Removes a subject's blobs and unfinished uploads, and what generations have made. May be repeated; nothing without a broker.
 * @param tag the keyed hash by which the archive knows the subject; undefined for none
 * @returns how many there were
 * @throws RepriseError `broker_unavailable`
 */
export async function eraseBlobs(
  { keyring, live }: Pick<LifecycleContext, "keyring" | "live">,
  tenant: TenantId,
  { tag, generations }: { readonly tag: string | undefined; readonly generations: readonly string[] },
): Promise<number> {
  if (!live) return 0;
  const { broker, log } = live;
  const storage = blobs.createBlobStorage({ broker, publish: log.publish });
  const isOf = async (subject: string) =>
    tag !== undefined && (await keyring.tag(tenant, subjectTag(subject))) === tag;
  const removed = await blobs.removeBlobsOf(storage, tenant, { isOf, generations });
  if (removed === 0) return 0;
  for (const stream of FILLED)
    await logErasure.purgeFiller(broker, stream, await logErasure.fillStream(live, stream));
  return removed;
}
