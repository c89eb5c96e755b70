import { type BlobStore, mayHold } from "@reprise/archive";
import { listGenerations } from "@reprise/stream";
import { readStreamMessages } from "@reprise/broker";
import { openJobs } from "@reprise/jobs";
import {
  decodeEvent,
  type GenerationRef,
  logSubject,
  peekType,
  RepriseError,
  streamOf,
  type TenantId,
  STREAM_START,
} from "@reprise/protocol";
import { ownersOf } from "../../archiving/read-log-metadata.ts";
import { subjectTag } from "../../records/search-tags.ts";
import type { LifecycleContext, LiveStreams } from "../lifecycle-context.ts";
import { archiveDamaged, readStoredHeaders } from "./stored-headers.ts";

/** The generations to find: those of a subject, or single ones. */
export interface GenerationFilter {
  readonly tag: string | undefined;
  readonly generations: readonly string[];
}

export interface FoundGeneration {
  /** When its oldest message was stored, microseconds since 1970; undefined when nothing of it is archived. */
  firstAtUs: number | undefined;
  /** Keys that have sealed segments of it. */
  readonly kids: Set<string>;
  /** Keyed hashes of its metadata and its subject, as far as its request is archived. */
  readonly tags: Set<string>;
  /** Something of it may lie in a file that can't be read, and whose it is and under which key with it. */
  isPartlyUnread: boolean;
}

/** By id. */
export type FoundGenerations = Map<string, FoundGeneration>;

/**
 * All of a tenant that is wanted, but for single ones that are known to be another subject's: in the archive, among what is stored and not committed yet, in the queue, and in the live log. Files that
 * can't be read are passed over.
 * @throws RepriseError `archive_unavailable`, `broker_unavailable`
 */
export async function findGenerations(
  { archive, store, keyring, live, onDamaged }: LifecycleContext,
  tenant: TenantId,
  wanted: GenerationFilter,
): Promise<FoundGenerations> {
  const ids = new Set(wanted.generations);
  const { tag } = wanted;
  const ofSubject = new Set<string>();
  const others = new Set<string>();
  if (tag !== undefined) {
    for await (const id of findStored(store, tenant, tag)) ofSubject.add(id);
    const tagOf = (subject: string) => keyring.tag(tenant, subjectTag(subject));
    if (live)
      for await (const { id, isOfSubject } of findLive(live, tenant, tag, tagOf))
        (isOfSubject ? ofSubject : others).add(id);
    for (const id of ofSubject) ids.add(id);
  }
  const found: FoundGenerations = new Map();
  for (const id of ids)
    found.set(id, { firstAtUs: undefined, kids: new Set(), tags: new Set(), isPartlyUnread: false });
  const damaged = new Set<string>();
  for await (const { headers } of readStoredHeaders(store, tenant, (key) => damaged.add(key))) {
    for (const { generation, kind, kid, first_at, tags = [] } of headers) {
      const known = found.get(generation);
      // Accesses to it are under the tenant's key, and stay.
      if (!known || kind === "access") continue;
      known.kids.add(kid);
      known.firstAtUs = Math.min(known.firstAtUs ?? first_at, first_at);
      for (const one of tags) known.tags.add(one);
    }
  }
  for (const id of tag === undefined ? [] : wanted.generations)
    if (!ofSubject.has(id) && (others.has(id) || (found.get(id)?.tags.size ?? 0) > 0)) found.delete(id);
  for (const key of damaged) onDamaged?.(archiveDamaged(key));
  // What a file holds that no commit names is archived again, or was before.
  for (const file of archive.state.files(tenant).filter(({ key }) => damaged.has(key)))
    for (const [id, known] of found) known.isPartlyUnread ||= mayHold(file, id);
  return found;
}

/**
 * @param kids all that are known to have sealed something of it
 * @throws RepriseError `archive_corrupt` when the only file that says which key to destroy can't be read
 */
export function assertKeysKnown(found: FoundGenerations, kids: ReadonlySet<string>): void {
  const unread = [...found].find(([, { isPartlyUnread }]) => isPartlyUnread);
  if (kids.size > 0 || !unread) return;
  throw new RepriseError("archive_corrupt", `A file that may hold ${unread[0]} can't be read: restore it.`);
}

/** A subject's key names the subject's tag, so a segment without the request tells too. */
async function* findStored(store: BlobStore, tenant: string, tag: string): AsyncGenerator<string> {
  for await (const { headers } of readStoredHeaders(store, tenant, () => {})) {
    for (const { generation, tags, kid } of headers)
      if (tags?.includes(tag) || isKeyOfSubject(kid, tag)) yield generation;
  }
}

/** True if a key is one of a subject's, and not of a single generation. */
export function isKeyOfSubject(kid: string, tag?: string): boolean {
  const [kind, whose] = kid.split(".");
  return kind === "s" && (tag === undefined || whose === tag);
}

async function* findLive(
  live: LiveStreams,
  tenant: TenantId,
  tag: string,
  tagOf: (subject: string) => Promise<string>,
): AsyncGenerator<{ readonly id: string; readonly isOfSubject: boolean }> {
  for await (const { generation, request } of readLiveRequests(live, tenant)) {
    // A log that has lost its beginning does not tell whose it is.
    if (peekType(request) !== "generation.requested") continue;
    const tags = await Promise.all(ownersIn(request).map(tagOf));
    yield { id: generation, isOfSubject: tags.includes(tag) };
  }
}

/**
 * Yields the request of every generation of a tenant from the queue or the log: from both, if both have it. All requests that were stored before the call
 * are included, even if replicas lag; a job that leaves the queue meanwhile has a log.
 */
async function* readLiveRequests(
  live: LiveStreams,
  tenant: TenantId,
): AsyncGenerator<{ generation: string; request: Uint8Array }> {
  const { broker, shards } = live;
  for await (const { ref, payload } of openJobs.readAllJobs(broker.reads))
    if (ref.tenant === tenant) yield { generation: ref.generation, request: payload };
  for await (const ref of listGenerations(broker.reads, tenant, shards)) {
    const request = await readRequest(live, ref);
    if (request) yield { generation: ref.generation, request };
  }
}

/** The oldest event that a log has: any replica's answer will do, but not that there is none. */
async function readRequest(
  { broker, log }: LiveStreams,
  ref: GenerationRef,
): Promise<Uint8Array | undefined> {
  const first = { afterStreamSeq: STREAM_START, maxMessages: 1, maxBytes: 0, subject: logSubject(ref) };
  const [message] = await readStreamMessages(broker.reads, streamOf(ref.generation), first);
  return (message ?? (await log.leader.readTail(ref, STREAM_START, 1))[0])?.payload;
}

/** By which names a seq 0 says that it is erased: its conversation and its subject; none of anything else. */
export function ownersIn(payload: Uint8Array): string[] {
  if (peekType(payload) !== "generation.requested") return [];
  const event = decodeEvent(payload);
  return event.type === "generation.requested" ? ownersOf(event.request) : [];
}
