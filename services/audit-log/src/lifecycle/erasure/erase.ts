import { randomBytes } from "node:crypto";
import {
  type GenerationId,
  RepriseError,
  type TenantId,
  unixNow,
  type GenerationRef,
} from "@reprise/protocol";
import { subjectTag } from "../../records/search-tags.ts";
import { copiesOf } from "../../copies/copy-owners.ts";
import { assertNotHeld, assertOldEnough } from "./assert-erasable.ts";
import { type ErasureCertificate, certify } from "./certificate.ts";
import { type Erasure, erasuresIn } from "../../records/erasures.ts";
import {
  assertKeysKnown,
  type FoundGenerations,
  findGenerations,
  isKeyOfSubject,
  type GenerationFilter,
} from "./find-generations.ts";
import { type FinishOptions, finishErasure } from "./finish-erasure.ts";
import { eraseBlobs } from "../erase-blobs.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import { closeConversations, removeConversations, reopenConversations } from "../remove-conversations.ts";
import { endAll, isAnywhere, ownerOfLive, toRef } from "./live-generations.ts";
import { requestDraft } from "../../records/request-draft.ts";

/*
 * An erasure is recorded in the archive before and after the data is removed; a process that finds the first record without the second
 * continues the erasure, so it may be interrupted anywhere. Commits have one order: an archiver that seals erased data at the
 * same time, in another process, learns of the first record before its own commit, and seals again without that data.
 */

export interface ErasureRequest {
  readonly tenant: TenantId;
  /** Whose generations: a pseudonym, as requests name it. Or one generation. */
  readonly subject?: string | undefined;
  readonly generation?: GenerationId | undefined;
  /** Generations that are erased with those of the subject, even if they are not stored yet. */
  readonly further?: readonly GenerationId[] | undefined;
  /** The caller, and the reason. */
  readonly by: string;
  readonly reason: string;
  /** For how long the tenant must keep everything. Default 0. */
  readonly minDays?: number | undefined;
  /** Erases what must still be kept, save what a legal hold forbids. */
  readonly despiteMinimum?: boolean | undefined;
}

export type ErasureOutcome =
  | { readonly kind: "erased"; readonly certificate: ErasureCertificate }
  /** The keys are destroyed. The live streams are out of reach from here: the audit log purges them, and finishes the erasure. */
  | { readonly kind: "waiting"; readonly id: string }
  /** The subject has no generation; this many blobs were removed. */
  | { readonly kind: "blobs"; readonly blobs: number }
  /** Nothing of it is kept. */
  | { readonly kind: "nothing" };

/**
 * Erases all generations of a subject, or one generation: afterwards they cannot be read, and the archive still verifies. Returns the
 * earlier certificate for what is erased already.
 * @throws RepriseError `erasure_refused` under a legal hold, within the tenant's minimum, and for one generation whose key is its subject's;
 *   `archive_unavailable`, `archive_corrupt`, `broker_unavailable`: what was begun then is finished by the next call, or by the audit log
 */
export async function eraseSubject(
  context: LifecycleContext,
  request: ErasureRequest,
  options: FinishOptions = {},
): Promise<ErasureOutcome> {
  const { archive, keyring } = context;
  const { tenant, subject } = request;
  await archive.refresh();
  const wanted = await toWanted(context, request);
  const known = erasuresIn(archive.state.records(tenant));
  const asked =
    known.find((one) => one.doneAt === undefined && isSame(one, wanted)) ??
    (await requestErasure(context, request, wanted, known));
  const removed = asked ? 0 : await eraseBlobsAlone(context, tenant, wanted);
  // An archiver that is copying one of them has stored their subject's key before it read it: with an erasure that is recorded it commits no copy.
  const isCopied = removed > 0 && subject !== undefined && (await keyring.kidsOf(tenant, subject)).length > 0;
  const erasure = isCopied ? await recordRequest(context, request, wanted, new Map()) : asked;
  if (!erasure) {
    const done = known.findLast((one) => isSame(one, wanted));
    if (done) return { kind: "erased", certificate: await certify(archive, tenant, done) };
    return removed > 0 ? { kind: "blobs", blobs: removed } : { kind: "nothing" };
  }
  const kids = subject === undefined ? [] : await keyring.kidsOf(tenant, subject);
  const finished = await finishErasure(context, tenant, erasure, { ...options, kids });
  return finished
    ? { kind: "erased", certificate: await certify(archive, tenant, finished) }
    : { kind: "waiting", id: erasure.id };
}

/** Erases the blobs of a subject whose generations are all erased. */
async function eraseBlobsAlone(
  context: LifecycleContext,
  tenant: TenantId,
  wanted: GenerationFilter,
): Promise<number> {
  if (wanted.tag === undefined || wanted.generations.length > 0) return 0;
  assertNotHeld(context.archive.state.holds(tenant), wanted, new Map());
  return eraseBlobs(context, tenant, wanted);
}

function isSame(erasure: Erasure, { tag, generations }: GenerationFilter): boolean {
  if (tag !== undefined && erasure.tag === tag) return true;
  return generations.length > 0 && generations.every((id) => erasure.generations.includes(id));
}

/** One generation that belongs to a subject is erased as the subject is, if it is all that there is of it. */
async function toWanted(
  context: LifecycleContext,
  { tenant, subject, generation, further = [] }: ErasureRequest,
): Promise<GenerationFilter> {
  const { keyring } = context;
  if (subject !== undefined && generation === undefined) {
    const tag = await keyring.tag(tenant, subjectTag(subject));
    return { tag, generations: further };
  }
  if (subject !== undefined || generation === undefined)
    throw new TypeError("an erasure is of a subject or of a generation");
  const single = { tag: undefined, generations: [generation] };
  const found = await findGenerations(context, tenant, single);
  // Each generation that is asked for is found, with or without keys.
  const { kids } = found.get(generation)!;
  assertKeysKnown(found, kids);
  const named = context.live && (await ownerOfLive(context.live, toRef(tenant, generation)));
  const tag =
    named === undefined
      ? [...kids].find((kid) => isKeyOfSubject(kid))?.split(".")[1]
      : await keyring.tag(tenant, subjectTag(named));
  return { ...single, tag };
}

/**
 * Undefined when nothing of it is kept that was not erased before. Of a subject, its conversations are deleted before its generations are looked for: a
 * turn of one would have its words. Where the erasure is refused then they are as they were.
 */
async function requestErasure(
  context: LifecycleContext,
  request: ErasureRequest,
  wanted: GenerationFilter,
  known: readonly Erasure[],
): Promise<Erasure | undefined> {
  const { tag } = wanted;
  const { tenant, subject, further, by } = request;
  const found = await findErasable(context, request, wanted, known);
  // An erasure of a conversation comes after its deletion.
  if (tag === undefined || subject === undefined || further !== undefined)
    return found && recordRequest(context, request, wanted, found);
  if (!found) assertNotHeld(context.archive.state.holds(tenant), wanted, new Map());
  const closed = await closeConversations(context, tenant, { tag, by });
  try {
    if (closed.length === 0) return found && (await recordRequest(context, request, wanted, found));
    // A turn that was claimed last may be stored later.
    const heads = closed.flatMap(({ before: { head, summary } }) =>
      [head?.generation, summary?.generation].filter((generation) => generation !== undefined),
    );
    const all = { ...wanted, generations: [...wanted.generations, ...heads] };
    const foundNow = await findErasable(context, request, all, known);
    if (foundNow) return await recordRequest(context, request, wanted, foundNow);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "erasure_refused")
      await reopenConversations(context, tenant, closed);
    throw error;
  }
  await removeConversations(context, tenant, []);
  return undefined;
}

/** Undefined where there is nothing that was not erased before. @throws RepriseError `erasure_refused` */
async function findErasable(
  context: LifecycleContext,
  { tenant, generation, minDays = 0, despiteMinimum = false }: ErasureRequest,
  wanted: GenerationFilter,
  known: readonly Erasure[],
): Promise<FoundGenerations | undefined> {
  const found = await findGenerations(context, tenant, wanted);
  for (const id of known.flatMap(({ generations }) => generations)) found.delete(id);
  if (generation !== undefined) await dropIfNowhere(context, toRef(tenant, generation), found);
  const copies = copiesOf(context.archive.state, tenant, wanted);
  if (found.size === 0 && copies.length === 0) return undefined;
  if (generation !== undefined && found.size > 1) {
    const others = `${found.size - 1} other generation${found.size > 2 ? "s" : ""}`;
    throw new RepriseError(
      "erasure_refused",
      `Its key is that of its subject, as of ${others}: erase the subject, or nothing.`,
    );
  }
  assertNotHeld(context.archive.state.holds(tenant), wanted, found);
  if (!despiteMinimum && minDays > 0) {
    const ages = [...found.values()].map(({ firstAtUs }) => firstAtUs);
    const copied = copies.map(({ at }) => Date.parse(at) * 1_000);
    assertOldEnough([...ages, ...copied], minDays, unixNow());
  }
  return found;
}

async function recordRequest(
  { archive, live }: LifecycleContext,
  { tenant, by, reason }: ErasureRequest,
  wanted: GenerationFilter,
  found: FoundGenerations,
): Promise<Erasure> {
  const generations = [...found.keys()].toSorted();
  const erasure: Erasure = {
    id: `era_${randomBytes(10).toString("hex")}`,
    at: new Date().toISOString(),
    by,
    reason,
    tag: wanted.tag,
    generations,
    doneAt: undefined,
  };
  const refs = generations.map((id) => toRef(tenant, id));
  if (live) await endAll(live, refs);
  await archive.append((state) => {
    // A hold that was set meanwhile comes first.
    assertNotHeld(state.holds(tenant), wanted, found);
    return requestDraft(state, tenant, erasure, { purged: {}, at: erasure.at });
  });
  return erasure;
}

async function dropIfNowhere(
  { live }: LifecycleContext,
  ref: GenerationRef,
  found: FoundGenerations,
): Promise<void> {
  const kids = found.get(ref.generation)?.kids;
  if (!kids || kids.size > 0) return;
  if (!live || !(await isAnywhere(live, ref))) found.delete(ref.generation);
}
