import * as conversations from "@reprise/conversations";
import { type AuditClient, type Broker, hasMessage } from "@reprise/broker";
import { type GenerationLog, type Hub, type LogSnapshot } from "@reprise/stream";
import type { Logger } from "@reprise/runtime";
import {
  type ConversationId,
  FIRST_SEQ,
  generationJobs,
  type GenerationRef,
  JOBS_STREAM,
  plus,
  RepriseError,
  REQUEST_SEQ,
  type Seq,
  settleTurn,
  waitsOf,
} from "@reprise/protocol";
import { readArchived } from "../../archive-fallback/archived-events.ts";
import { SHOWN_MS } from "../../domain/shown-generation.ts";
import { waitForCache } from "../../domain/wait-for-cache.ts";

export interface TurnSources {
  readonly log: GenerationLog;
  readonly hub: Hub;
  readonly audit: AuditClient;
  readonly broker: Pick<Broker, "main">;
  readonly logger: Pick<Logger, "error">;
}

/** State of a turn, as far as a later turn depends on it. */
export type TurnState =
  | { readonly kind: "ended"; readonly turn: conversations.LoggedTurn; readonly isArchived: boolean }
  /** It is running, waits in the queue, or is not completely cleared by moderation. */
  | { readonly kind: "running"; readonly turn: conversations.LoggedTurn | undefined }
  /** There is neither a log nor a job of it, and there was none. */
  | { readonly kind: "missing" }
  /** It is kept no longer, if there was one. */
  | { readonly kind: "gone" };

/** State of the turn that a row names as its last. `other`: it belongs to another conversation, whose create was sent first with the same key. */
export type HeadState = TurnState | { readonly kind: "other" };

const PAGE_BYTES = 524_288;

/**
 * Reads a turn from the live log, or after its retention from the archive. A turn that has waited for others and has ended has the prompt that was made for it
 * then.
 * @param mayBeOld whether the live log may have had it and have nothing left of it, not even a marker
 * @throws RepriseError `generation_erased`, `audit_unavailable`, `broker_unavailable`
 */
export async function readTurn(
  sources: TurnSources,
  ref: GenerationRef,
  mayBeOld: boolean,
): Promise<TurnState> {
  const state = await readStoredTurn(sources, ref, mayBeOld);
  const generations = state.kind === "ended" ? waitsOf(state.turn.requested) : [];
  if (state.kind !== "ended" || generations.length === 0) return state;
  const waited = await Promise.all(
    generations.map((generation) => readStoredTurn(sources, { ...ref, generation }, true)),
  );
  // One that was cancelled while it waited has ended before those that it waited for.
  if (waited.some(({ kind }) => kind === "running")) return { kind: "running", turn: state.turn };
  const turns = waited.flatMap((one) => (one.kind === "ended" ? [one.turn] : []));
  if (turns.length < waited.length) return { kind: "gone" };
  return { ...state, turn: settleTurn(state.turn, turns) };
}

/** The same with the prompt that its seq 0 has. */
export async function readStoredTurn(
  sources: TurnSources,
  ref: GenerationRef,
  mayBeOld: boolean,
): Promise<TurnState> {
  const { log } = sources;
  let events: readonly Uint8Array[];
  try {
    ({ events } = await readCurrent(log, ref));
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "generation_expired") throw error;
    return readArchivedTurn(sources, ref);
  }
  const turn = conversations.foldTurn(events);
  if (!turn) {
    // A log that has lost its beginning is whole in the archive.
    if (events.length > 0) return readArchivedTurn(sources, ref);
    if (await isUnderWay(sources, ref)) return { kind: "running", turn: undefined };
    return mayBeOld ? readArchivedTurn(sources, ref) : { kind: "missing" };
  }
  const isEnded = turn.transcript.ended && (await isShown(sources.hub, ref, turn));
  return isEnded ? { kind: "ended", turn, isArchived: false } : { kind: "running", turn };
}

/**
 * Reads the turn that a conversation's row names as its last. A create claims its turn before it knows which conversation owns the id of its key.
 * @throws RepriseError as `readTurn`
 */
export async function readHeadTurn(
  sources: TurnSources,
  ref: GenerationRef,
  { conversation, mayBeOld }: { readonly conversation: ConversationId; readonly mayBeOld: boolean },
): Promise<HeadState> {
  const state = await readTurn(sources, ref, mayBeOld);
  return isOfOther(state, conversation) ? { kind: "other" } : state;
}

export function isOfOther(state: TurnState, conversation: ConversationId): boolean {
  const turn = "turn" in state ? state.turn : undefined;
  if (!turn) return false;
  const { context } = turn.requested;
  // A summary is no turn.
  return context?.conversation !== conversation || context.summarizes !== undefined;
}

/** Returns true if a generation without a log has a job, or has got its log during the check. */
async function isUnderWay({ log, broker }: TurnSources, ref: GenerationRef): Promise<boolean> {
  for (const subject of generationJobs(ref))
    if (await hasMessage(broker.main, JOBS_STREAM, subject)) return true;
  return (await log.leader.readLast(ref)) !== undefined;
}

/** A replica may lag the end that the caller has seen: if it shows none, the rest is read from the leader. */
async function readCurrent({ reader, leader }: GenerationLog, ref: GenerationRef): Promise<LogSnapshot> {
  const read = await reader.readLog(ref);
  if (conversations.foldTurn(read.events)?.transcript.ended !== false) return read;
  const rest = await leader.readTail(ref, read.streamSeq);
  const events = [...read.events, ...rest.map(({ payload }) => payload)];
  return { events, streamSeq: rest.at(-1)?.streamSeq ?? read.streamSeq };
}

/** Returns true if readers may have the whole turn. Of a gated turn, only text that moderation has cleared goes to a model again. */
async function isShown(
  hub: Hub,
  ref: GenerationRef,
  { requested, seq }: conversations.LoggedTurn,
): Promise<boolean> {
  if (requested.policy.moderation === undefined) return true;
  const cache = await hub.open(ref);
  await hub.refresh(cache);
  const isDue = () => cache.shownSeq >= seq || cache.failure !== undefined;
  await waitForCache(cache, isDue, { waitMs: SHOWN_MS });
  return cache.shownSeq >= seq;
}

/** Reads an archived turn as readers may have it: text that moderation has not cleared by now is never cleared. */
async function readArchivedTurn({ audit }: TurnSources, ref: GenerationRef): Promise<TurnState> {
  const events: Uint8Array[] = [];
  try {
    const { events: first } = await readArchived({ audit, ref, original: true }, REQUEST_SEQ, 1);
    events.push(...first.slice(0, 1).map(({ payload }) => payload));
    for (let from: Seq = FIRST_SEQ, more = true; more;) {
      const page = await readArchived({ audit, ref, original: false }, from, PAGE_BYTES);
      events.push(...page.events.map(({ payload }) => payload));
      const last = page.events.at(-1);
      more = page.more && last !== undefined;
      if (last) from = plus(last.seq, 1);
    }
  } catch (error) {
    if (error instanceof RepriseError && error.code === "generation_not_found") return { kind: "gone" };
    throw error;
  }
  const turn = conversations.foldTurn(events);
  return turn?.transcript.ended ? { kind: "ended", turn, isArchived: true } : { kind: "gone" };
}
