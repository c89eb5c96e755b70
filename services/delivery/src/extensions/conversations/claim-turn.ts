import type * as conversations from "@reprise/conversations";
import { waitUntilBegun } from "@reprise/stream";
import {
  asUnixMs,
  CONVERSATION_LIMITS,
  type ConversationId,
  conversationNotFound,
  type ConversationRecord,
  conversationSubject,
  type GenerationId,
  type GenerationRef,
  RepriseError,
  type TenantId,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import { conversationBusy } from "./conversation-busy.ts";
import type { NodeConversations } from "./open-conversations.ts";
import {
  type HeadState,
  isOfOther,
  readHeadTurn,
  readTurn,
  type TurnSources,
  type TurnState,
} from "./read-turn.ts";
import { assertRoomInQueue, readTurnQueue, type TurnQueue } from "./turn-queue.ts";

/*
 * A conversation's row names its last turn. A turn is claimed by compare-and-set on that row, before its generation exists: in the other order a second
 * generation that loses would run, and be billed. If a node dies in between, the claim has no generation. A create with the same Idempotency-Key has the same
 * generation, and claims it once more. Any other create finds neither a log nor a job for the claim. Once the claim is older than a create can take, the new
 * create claims the turn in its place.
 *
 * If turns queue, the row decides their order: a claim that has lost is retried after the one that has won.
 */

/** A create gives up after 20 s; clocks differ. */
const VOID_MS = 60_000;
/** By then the write has been given up. */
const LATE_MS = 30_000;
/** A create goes from its claim to its seq 0 in some milliseconds. */
const BEGIN_MS = 3_000;

export interface Place {
  readonly row: ConversationRecord;
  /** Where the row lies that was read. */
  readonly at: conversations.FoundConversation["at"];
  /** The turn that a new one follows; undefined for the first. */
  readonly parent: GenerationId | undefined;
  /** The state of that turn, which has ended. */
  readonly before: Extract<TurnState, { kind: "ended" }>["turn"] | undefined;
  /** Which turn the new one is, from 1 on. */
  readonly turn: number;
  /** The running turns that it waits for. Absent: it waits for none. */
  readonly queue?: TurnQueue;
}

/**
 * Finds the place of a new turn.
 * @param from an older turn to continue from; default: the last
 * @throws RepriseError `conversation_not_found`, `conversation_busy`, `conversation_full`, `generation_not_found` (`from`), `generation_expired`,
 *   `generation_erased`, `audit_unavailable`, `broker_unavailable`
 */
export async function findPlace(
  sources: TurnSources,
  { rows, retentionMs }: NodeConversations,
  {
    ref,
    conversation,
    from,
    nowMs = unixNow(),
  }: {
    readonly ref: GenerationRef;
    readonly conversation: ConversationId;
    readonly from: GenerationId | undefined;
    readonly nowMs?: UnixMs;
  },
): Promise<Place> {
  const { tenant, generation } = ref;
  const { row, at } = await rows.find(tenant, conversation, nowMs);
  const { head, turns } = row;
  const isQueued = row.on_busy === "queue";
  const isOurs = head?.generation === generation;
  const isFork = !isOurs && from !== undefined && from !== head?.generation;
  const ageMs = head ? nowMs - Date.parse(head.claimed_at) : 0;
  const last =
    head && !isOurs
      ? await readHead(
          sources,
          { tenant, generation: head.generation },
          {
            conversation,
            mayBeOld: ageMs > retentionMs,
            waitsForBegin: isQueued && ageMs < VOID_MS,
          },
        )
      : undefined;
  if (last?.kind === "running" && (isFork || !isQueued)) throw conversationBusy();
  if (last?.kind === "missing" && ageMs < VOID_MS) throw conversationBusy();
  const isVoid = last?.kind === "missing" || last?.kind === "other";
  const turn = isOurs || isVoid ? turns : turns + 1;
  if (turn > CONVERSATION_LIMITS.turns)
    throw new RepriseError(
      "conversation_full",
      `A conversation has at most ${CONVERSATION_LIMITS.turns} turns.`,
      { param: "conversation" },
    );
  const place = { row, at, turn };
  if (isFork) {
    const older = await readEnded(sources, { tenant, generation: from }, conversation);
    return { ...place, parent: from, before: older };
  }
  const parent = isOurs || isVoid ? head?.parent : head?.generation;
  const first = parent ?? row.behind;
  const before =
    first !== undefined && (isOurs || isVoid || parent === undefined)
      ? await readTurn(sources, { tenant, generation: first }, true)
      : last;
  if (!before || before.kind === "missing" || before.kind === "other")
    return { ...place, parent, before: undefined };
  if (before.kind === "gone") throw gone();
  if (before.kind === "ended") return { ...place, parent, before: before.turn };
  if (!isQueued || !before.turn) throw conversationBusy();
  const queue = await readTurnQueue(sources, tenant, before.turn);
  assertRoomInQueue(queue);
  return { ...place, parent, before: undefined, queue };
}

/** In a queue, waits for a turn that another node has just claimed: the next turn needs its request. */
async function readHead(
  sources: TurnSources,
  ref: GenerationRef,
  {
    waitsForBegin,
    ...of
  }: {
    readonly conversation: ConversationId;
    readonly mayBeOld: boolean;
    readonly waitsForBegin: boolean;
  },
): Promise<HeadState> {
  const state = await readHeadTurn(sources, ref, of);
  const hasBegun = state.kind !== "missing" && !(state.kind === "running" && !state.turn);
  if (hasBegun || !waitsForBegin) return state;
  const { log, broker, logger } = sources;
  await waitUntilBegun(ref, {
    connection: broker.main,
    onError: (err) => logger.error({ err }, "a callback failed"),
    read: () => log.leader.readLast(ref),
    waitMs: BEGIN_MS,
  });
  return readHeadTurn(sources, ref, of);
}

/**
 * A turn that has ended, of any conversation or of this one.
 * @throws RepriseError `generation_not_found`, `conversation_busy`
 */
async function readEnded(sources: TurnSources, ref: GenerationRef, conversation?: ConversationId) {
  const state = await readTurn(sources, ref, true);
  const isOther = conversation !== undefined && isOfOther(state, conversation);
  if (state.kind === "missing" || state.kind === "gone" || isOther)
    throw new RepriseError("generation_not_found", "The conversation has no turn with this id.", {
      param: "previous_generation",
    });
  if (state.kind === "running") throw conversationBusy();
  return state.turn;
}

/**
 * Makes a generation the last turn, if the row is unchanged since it was read. A claim of an earlier try is made again: another create may have passed it over
 * since.
 * @returns false if the place must be found again: the row has changed, either by another turn that this one may wait for, or without a new turn
 * @throws RepriseError `conversation_busy` if another turn has come before it, `conversation_not_found` if it was deleted, `broker_unavailable`
 */
export async function claimTurn(
  rows: conversations.ConversationRows,
  { tenant, generation }: GenerationRef,
  { row, at, parent, turn }: Place,
): Promise<boolean> {
  const now = new Date(unixNow());
  // After a first turn: that one has them in its seq 0.
  const { items, ...lasting } = row;
  const next: ConversationRecord = {
    ...lasting,
    ...(items && turn === 1 && { items }),
    expires_at: new Date(now.getTime() + row.ttl_seconds * 1_000).toISOString(),
    turns: turn,
    head: {
      generation,
      ...(parent !== undefined && { parent }),
      claimed_at: now.toISOString(),
    },
  };
  const isStored = (await rows.write(conversationSubject(tenant, row.id), next, at)) !== undefined;
  if (!isStored) {
    const head = await readClaimed(rows, tenant, row.id);
    const isOurs = head === generation;
    if (!isOurs && head !== row.head?.generation && row.on_busy !== "queue") throw conversationBusy();
    if (!isOurs) return false;
  }
  assertInTime(asUnixMs(now.getTime()));
  return true;
}

/**
 * A process that slept since it claimed a turn must not queue what another create may have passed over.
 * @throws RepriseError `conversation_busy`
 */
function assertInTime(claimedAtMs: UnixMs): void {
  if (unixNow() - claimedAtMs > LATE_MS) throw conversationBusy();
}

/**
 * Undoes the claim of a turn whose generation belongs to another request. The row returns to its state before the claim, unless a later turn has been claimed.
 */
export async function unclaimTurn(
  rows: conversations.ConversationRows,
  { tenant, generation }: GenerationRef,
  { row: before }: Place,
): Promise<void> {
  for (let stored: unknown; stored === undefined;) {
    const { row, at } = await rows.read(tenant, before.id);
    if (row?.kind !== "conversation" || row.head?.generation !== generation) return;
    const { head: _, ...rest } = row;
    const next = { ...rest, turns: before.turns, ...(before.head && { head: before.head }) };
    stored = await rows.write(conversationSubject(tenant, row.id), next, at);
  }
}

/** Returns the turn that has the last place now: another try of the same create may have claimed it. */
async function readClaimed(
  rows: conversations.ConversationRows,
  tenant: TenantId,
  id: ConversationId,
): Promise<GenerationId | undefined> {
  const { row } = await rows.read(tenant, id);
  if (row?.kind !== "conversation") throw conversationNotFound();
  return row.head?.generation;
}

function gone(): RepriseError {
  const message = "The conversation's last turn is no longer kept: name an older one as previous_generation.";
  return new RepriseError("generation_expired", message, { param: "conversation" });
}
