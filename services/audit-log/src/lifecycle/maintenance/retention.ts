import type { UnixMs } from "@reprise/protocol";
import { isDeepStrictEqual } from "node:util";
import { type ArchiveFile, mayHold, parseDataKey } from "@reprise/archive";
import { deleteExpiredCopies } from "../../copies/delete-expired-copies.ts";
import { isKeyOfSubject } from "../erasure/find-generations.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import { readHeaders, readStoredHeaders } from "../erasure/stored-headers.ts";

const DAY_MS = 86_400_000;
/** Replaces the generation in segments of a tenant's own records. */
const TENANTS_OWN = "-";

/** A day of a tenant that is over for good. */
interface ExpiredDay {
  readonly day: string;
  readonly files: readonly ArchiveFile[];
}

/** The days of which even the last message is older than `maxDays`, oldest first. */
function expiredDays(files: readonly ArchiveFile[], maxDays: number, nowMs: UnixMs): ExpiredDay[] {
  const days = new Map<string, ArchiveFile[]>();
  for (const file of files) {
    const day = parseDataKey(file.key)?.day;
    if (day === undefined || Date.parse(day) + (maxDays + 1) * DAY_MS > nowMs) continue;
    days.set(day, [...(days.get(day) ?? []), file]);
  }
  return [...days].map(([day, some]) => ({ day, files: some })).toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

/**
 * Takes the days of a tenant out of the archive whose time is over, save what a legal hold keeps. Each is one commit, with a record that names
 * what was there; the leaves stay in the tree. Copies of blobs of these days go before that. Keys of generations of which nothing is left are destroyed. A key of a subject is not:
 * something of the subject may just be sealed with it.
 * @returns the days
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function deleteExpired(
  context: LifecycleContext,
  tenant: string,
  { maxDays, nowMs }: { maxDays: number; nowMs: UnixMs },
): Promise<string[]> {
  const { archive } = context;
  const deleted: string[] = [];
  await deleteCopies(context, tenant, { maxDays, nowMs });
  for (const { day, files } of expiredDays(archive.state.files(tenant), maxDays, nowMs)) {
    const holds = idsOf(archive.state.holds(tenant));
    const held = await findHeld(context, tenant);
    const gone = files.filter((file) => !isHeldFile(held, file));
    if (gone.length === 0) continue;
    const kids = await kidsIn(context, gone);
    const record = {
      kind: "retention_deleted" as const,
      at: new Date(nowMs).toISOString(),
      day,
      files: gone.map(({ key, sha256, segments, events }) => ({ key, sha256, segments, events })),
    };
    const removes = gone.map(({ key }) => key);
    const part = { tenant, leaves: [], files: [], removes, records: [record] };
    const outcome = await archive.append((state) =>
      // A hold that was set meanwhile is applied in the next round.
      isDeepStrictEqual(idsOf(state.holds(tenant)), holds) ? { tenants: [part] } : undefined,
    );
    if (outcome.kind === "fenced") continue;
    await destroyUnused(context, tenant, kids);
    deleted.push(day);
  }
  return deleted;
}

function idsOf(holds: readonly { readonly id: string }[]): string[] {
  return holds.map(({ id }) => id);
}

/** The data of a tenant that is under legal hold. */
interface Held {
  readonly isAll: boolean;
  readonly generations: ReadonlySet<string>;
  /** It is unknown whether these contain something under a legal hold. */
  readonly damaged: ReadonlySet<string>;
}

async function findHeld({ archive, store }: LifecycleContext, tenant: string): Promise<Held> {
  const holds = archive.state.holds(tenant);
  const isAll = holds.some(({ tag, generation }) => tag === undefined && generation === undefined);
  const generations = new Set(holds.flatMap(({ generation }) => generation ?? []));
  const tags = new Set(holds.flatMap(({ tag }) => tag ?? []));
  const damaged = new Set<string>();
  if (tags.size > 0 && !isAll) {
    for await (const { headers } of readStoredHeaders(store, tenant, (key) => damaged.add(key))) {
      for (const { generation, tags: own = [], kid } of headers) {
        if (own.some((tag) => tags.has(tag)) || [...tags].some((tag) => isKeyOfSubject(kid, tag)))
          generations.add(generation);
      }
    }
  }
  return { isAll, generations, damaged };
}

function isHeldFile({ isAll, generations, damaged }: Held, file: ArchiveFile): boolean {
  return isAll || damaged.has(file.key) || [...generations].some((generation) => mayHold(file, generation));
}

/** Before the files: their keys may be those of files that go. */
async function deleteCopies(
  context: LifecycleContext,
  tenant: string,
  { maxDays, nowMs }: { maxDays: number; nowMs: UnixMs },
): Promise<void> {
  if (context.archive.state.copies(tenant).size === 0) return;
  const { generations, damaged } = await findHeld(context, tenant);
  const isHeldGeneration = (generation: string) => damaged.size > 0 || generations.has(generation);
  const gone = await deleteExpiredCopies(context, tenant, { maxDays, nowMs, isHeldGeneration });
  const kids = gone.flatMap(({ kid, generation }): [string, string][] =>
    generation === undefined || isKeyOfSubject(kid) ? [] : [[kid, generation]],
  );
  await destroyUnused(context, tenant, new Map(kids));
}

/** Keys of single generations, and whose they are. Not that of a tenant's own records: further ones are sealed with it at any time. */
async function kidsIn(
  { store }: LifecycleContext,
  files: readonly ArchiveFile[],
): Promise<Map<string, string>> {
  const kids = new Map<string, string>();
  for (const { key, bytes } of files) {
    for (const { kid, generation } of (await readHeaders(store, key, bytes)) ?? [])
      if (!isKeyOfSubject(kid) && generation !== TENANTS_OWN) kids.set(kid, generation);
  }
  return kids;
}

async function destroyUnused(
  { archive, keyring }: LifecycleContext,
  tenant: string,
  kids: ReadonlyMap<string, string>,
): Promise<void> {
  const left = archive.state.files(tenant);
  const sealing = new Set([...archive.state.copies(tenant).values()].map(({ kid }) => kid));
  const unused = [...kids].filter(
    ([kid, generation]) => !sealing.has(kid) && !left.some((file) => mayHold(file, generation)),
  );
  await keyring.destroy(
    tenant,
    unused.map(([kid]) => kid),
  );
}
