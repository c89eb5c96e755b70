import { type ArchiveState, parseDataKey, type SegmentHeader } from "@reprise/archive";
import type { Erasure } from "../../records/erasures.ts";
import { isKeyOfSubject } from "../erasure/find-generations.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import {
  archiveDamaged,
  readStoredHeaders,
  type StoredHeaders,
  tryReadHeaders,
} from "../erasure/stored-headers.ts";

/**
 * Destroys keys with which an archiver that slept, or died, has sealed erased messages after their erasure, and stored them in a file that no
 * commit names. The file goes too, unless an archiver may be about to commit it: that one learns of the erasure then. A subject's key stays where
 * something else is sealed with it.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function eraseUnnamed(
  context: LifecycleContext,
  tenant: string,
  erasures: readonly Erasure[],
): Promise<void> {
  const { archive, store, keyring } = context;
  const erased = new Set(erasures.flatMap(({ generations }) => generations));
  for (const { key, headers } of await readUnnamed(context, tenant)) {
    const used = new Set(headers.filter((one) => erased.has(one.generation)).map(({ kid }) => kid));
    const living: string[] = [];
    for (const kid of used) if (typeof (await keyring.open(tenant, kid)) !== "string") living.push(kid);
    // What was merged is there for a day, for its readers: its keys are gone.
    if (living.length === 0) continue;
    const shared = await sharedKids(context, tenant, living, erased);
    await keyring.destroy(
      tenant,
      living.filter((kid) => !shared.has(kid)),
    );
    if (isPassed(archive.state, key, headers)) await store.delete(key);
  }
}

async function readUnnamed(
  { archive, store, onDamaged }: LifecycleContext,
  tenant: string,
): Promise<StoredHeaders[]> {
  const stored = await Array.fromAsync(store.list(`data/tenant=${tenant}/`));
  // What was listed before the commits are read is named by one of them, if by any.
  await archive.refresh();
  const unnamed: StoredHeaders[] = [];
  for (const { key, bytes } of stored) {
    if (archive.state.hasFile(tenant, key)) continue;
    const headers = await tryReadHeaders(store, key, bytes);
    if (headers === "damaged") onDamaged?.(archiveDamaged(key));
    else if (headers) unnamed.push({ key, headers });
  }
  return unnamed;
}

/** Those of a subject that have sealed something which is not erased. */
async function sharedKids(
  { store }: LifecycleContext,
  tenant: string,
  kids: readonly string[],
  erased: ReadonlySet<string>,
): Promise<Set<string>> {
  const ofSubjects = new Set(kids.filter((kid) => isKeyOfSubject(kid)));
  const shared = new Set<string>();
  if (ofSubjects.size === 0) return shared;
  for await (const { headers } of readStoredHeaders(store, tenant, () => {})) {
    for (const { kid, generation } of headers)
      if (ofSubjects.has(kid) && !erased.has(generation)) shared.add(kid);
  }
  return shared;
}

/** True if the archive has passed the file's place in its stream: it cannot be committed any more. */
function isPassed(state: ArchiveState, key: string, headers: readonly SegmentHeader[]): boolean {
  const name = parseDataKey(key);
  const lane = name && state.lanes.get(name.stream);
  if (!lane) return false;
  return headers.every(({ epoch }) => epoch < lane.epoch || (epoch === lane.epoch && name.last <= lane.last));
}
