import { type GenerationLog, type Hub, readPolicy, type GenerationCache } from "@reprise/stream";
import { decodeEvent, type Generation, type GenerationRef, MediaTranscript } from "@reprise/protocol";
import { toGeneration } from "./to-generation.ts";
import { toRequested } from "./to-requested.ts";
import { waitForCache } from "./wait-for-cache.ts";

/** Where a log is read, and what is known of how much of it may be shown. */
export interface ReadSources {
  readonly log: GenerationLog;
  readonly hub: Hub;
  /** Milliseconds that an answer waits until moderation lets its caller see the call's effect. Default 1 s. */
  readonly shownMs?: number;
}

export const SHOWN_MS = 1_000;

/**
 * Builds a generation from its log, in the form that the API returns: its status, and its output as far as moderation lets readers have it.
 * @param events from seq 0
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function showGeneration(
  hub: Hub,
  ref: GenerationRef,
  events: readonly Uint8Array[],
): Promise<Generation> {
  const requested = toRequested(events[0]);
  const shown = await toShown(hub, ref, events);
  const transcript = fold(events);
  return toGeneration(ref.generation, requested, transcript, shown === events ? transcript : fold(shown));
}

function fold(events: readonly Uint8Array[]): MediaTranscript {
  const transcript = new MediaTranscript();
  for (const payload of events) transcript.apply(decodeEvent(payload));
  return transcript;
}

/**
 * The same, given its cache: undefined where that does not have the log's events in memory, or has to be compared with it first, and for a
 * moderated log, which says more than its readers may be shown.
 */
export function showCached(cache: GenerationCache): Generation | undefined {
  const { requested } = cache;
  if (!requested || requested.policy?.moderation) return undefined;
  if (cache.events.isDoubted || cache.ended || cache.failure) return undefined;
  const { transcript } = cache;
  return transcript && toGeneration(cache.ref.generation, requested, transcript);
}

async function toShown(
  hub: Hub,
  ref: GenerationRef,
  events: readonly Uint8Array[],
): Promise<readonly Uint8Array[]> {
  const [first] = events;
  if (!first || !isModerated(first)) return events;
  const cache = await hub.open(ref);
  await hub.refresh(cache);
  return cache.shown.show(events);
}

/**
 * Returns the generation after a call has appended an event to its log. If moderation must first judge earlier output, the answer waits for it, at most a
 * second. It does not wait if a person has to decide: the answer then leaves out the rest, as for other readers.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function showAfter(
  { log, hub, shownMs = SHOWN_MS }: ReadSources,
  ref: GenerationRef,
  { first, transcript }: { first: Uint8Array; transcript: MediaTranscript },
): Promise<Generation> {
  if (!isModerated(first)) return toGeneration(ref.generation, toRequested(first), transcript);
  const cache = await hub.open(ref);
  await hub.refresh(cache);
  const isHeld = cache.policy?.moderation?.mode === "gate" && transcript.reviews.size > 0;
  const isDue = () => isHeld || cache.shownSeq >= transcript.cursor.seq || cache.failure !== undefined;
  await waitForCache(cache, isDue, { waitMs: shownMs });
  return showGeneration(hub, ref, (await log.reader.readLog(ref)).events);
}

function isModerated(requested: Uint8Array): boolean {
  return readPolicy(requested)?.moderation !== undefined;
}
