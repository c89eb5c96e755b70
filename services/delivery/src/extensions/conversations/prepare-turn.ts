import type { IncomingMessage } from "node:http";
import * as conversations from "@reprise/conversations";
import {
  blobsIn,
  type ConversationId,
  countedOf,
  estimateInputTokens,
  findOrphan,
  fullPolicyOf,
  type GenerationId,
  type GenerationRef,
  type GenerationRequest,
  LIMITS,
  type MediaMap,
  mediaRoomOf,
  type Message,
  type Prompt,
  promptBehind,
  RepriseError,
  toImportedPrompt,
  type TurnContext,
} from "@reprise/protocol";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import type { Given } from "../../create/creating.ts";
import type { RequestBlobs } from "../../models/request-blobs.ts";
import { findPlace, type Place } from "./claim-turn.ts";
import type { NodeConversations } from "./open-conversations.ts";
import { findSummary, fitWithSummary, type PlannedSummary, planSummary } from "./plan-summary.ts";
import { findPromptMedia } from "./prompt-media.ts";
import type { TurnSources } from "./read-turn.ts";
import { promptOfQueue, type TurnQueue } from "./turn-queue.ts";

/** A turn before it is claimed: its place, and what its model is given. */
export interface PreparedTurn extends Required<Given> {
  readonly place: Place;
  /** A summary for later turns, to be made once this turn has begun. */
  readonly planned: PlannedSummary | undefined;
}

/** Bytes for the rest of seq 0: the policy, budgets, a trace. */
const OTHER_BYTES = 65_536;
const MOST_ANSWER_TOKENS = 4_096;

export interface TurnPorts extends TurnSources {
  readonly conversations: NodeConversations;
  readonly bodies: Pick<RequestBodies, "read">;
  readonly blobs: Pick<RequestBlobs, "use"> | undefined;
  readonly shards: number;
}

interface NewTurn {
  readonly ref: GenerationRef;
  readonly request: GenerationRequest;
  /** Instructions that a conversation begins with, where this is its first turn. */
  readonly instructions: readonly Message[] | undefined;
  /** Context size of the model; undefined if unknown. */
  readonly contextTokens: number | undefined;
  /** Media that the request itself names, as far as they are known before URLs are fetched. */
  readonly media: MediaMap;
  /** Milliseconds that the generation may run. */
  readonly forMs: number;
  /** The call, with whose body the prompt is reserved. */
  readonly raw: IncomingMessage;
}

/**
 * Where a new turn comes, and what its model is given before its input; undefined for a request of no conversation.
 * @throws RepriseError as `findPlace`; `overloaded`; `conversation_full`; `invalid_request` for a tool's answer whose call no earlier turn has made
 */
export async function prepareTurn(sources: TurnPorts, turn: NewTurn): Promise<PreparedTurn | undefined> {
  const { request, ref, raw } = turn;
  const { conversation } = request;
  if (conversation === undefined) return undefined;
  return sources.bodies.read([raw, ref.tenant], async () => {
    const prepared = await readPlace(sources, turn, conversation);
    return { value: prepared, bytes: prepared.bytes };
  });
}

async function readPlace(
  sources: TurnPorts,
  { ref, request, instructions, contextTokens, media: own, forMs }: NewTurn,
  conversation: ConversationId,
): Promise<PreparedTurn & { readonly bytes: number }> {
  const { previous_generation: from } = request;
  const place = await findPlace(sources, sources.conversations, { ref, conversation, from });
  const { parent, row, turn, queue } = place;
  const before = whatIsBefore(place, instructions);
  const verified = await conversations.verifyPrompt(sources.log, ref.tenant, before.prompt);
  const asked = promptOfQueue({ prompt: [], turns: queue?.turns ?? [] });
  const kept = await findPromptMedia([...verified, ...asked], {
    blobs: sources.blobs,
    tenant: ref.tenant,
    endUser: request.end_user,
    forMs,
  });
  const whole = kept.prompt.slice(0, verified.length);
  const most = LIMITS.eventBytes - OTHER_BYTES - Buffer.byteLength(JSON.stringify(request));
  const tokens = contextTokens === undefined ? undefined : roomFor(request, contextTokens);
  const policy = fullPolicyOf(row.when_full);
  const mediaRoom = mediaRoomOf({ request, media: { ...kept.media, ...own } });
  const room = { bytes: most, tokens, counted: before.counted, media: mediaRoom };
  // Turns that queue after one that waits for a summary have that one.
  const found = await findSummary(
    sources,
    ref.tenant,
    before.summary ? { ...row, summary: undefined } : row,
    whole,
  );
  const fitted = fitWithSummary(found, whole, { room, policy });
  const { prompt, dropped, bytes } = fitted;
  // Those that the turn waits for may make calls yet.
  if (!queue) assertAnswers(prompt, request);
  const summary = before.summary ?? fitted.summary;
  const planned = before.summary
    ? undefined
    : planSummary({ ref, row, turn, whole, room, found, fitted, shards: sources.shards });
  const droppedTurns = before.dropped + dropped;
  const isCounted = before.counted !== undefined && dropped === 0;
  const context: TurnContext = {
    conversation,
    turn,
    ...(parent !== undefined && { parent }),
    ...(droppedTurns > 0 && { dropped_turns: droppedTurns }),
    ...(summary && { summary }),
    // All of them may have ended since the last one was read.
    ...(queue &&
      queue.turns.length > 0 && {
        waits_for: queue.turns.map(({ requested }) => requested.generation as GenerationId),
        room: {
          when_full: policy,
          bytes: most,
          ...(tokens !== undefined && { tokens }),
          ...(isCounted && { counted: before.counted }),
        },
      }),
  };
  const known = [...prompt, ...kept.prompt.slice(verified.length)];
  const named = new Set(known.flatMap((segment) => [...blobsIn(segment)]));
  const media = Object.fromEntries(Object.entries(kept.media).filter(([blob]) => named.has(blob)));
  const allBytes = bytes + (planned ? Buffer.byteLength(JSON.stringify(planned.prompt)) : 0);
  return { place, context, prompt, known, media, planned, bytes: allBytes };
}

function whatIsBefore(
  { before, queue, row }: Place,
  instructions: NewTurn["instructions"],
): Omit<TurnQueue, "turns"> {
  if (queue) return queue;
  const summary = undefined;
  if (!before)
    return { prompt: toImportedPrompt(row.items, instructions), dropped: 0, counted: undefined, summary };
  const dropped = before.requested.context?.dropped_turns ?? 0;
  return { prompt: promptBehind(before), dropped, counted: countedOf(before), summary };
}

/** Returns the tokens that the model's context has for earlier turns. */
function roomFor(request: GenerationRequest, contextTokens: number): number {
  const answer = request.max_output_tokens ?? Math.min(MOST_ANSWER_TOKENS, contextTokens / 4);
  return contextTokens - answer - estimateInputTokens(request);
}

function assertAnswers(prompt: Prompt, { input }: GenerationRequest): void {
  const at = findOrphan(prompt, input);
  if (at === undefined) return;
  const param = `input.${at}.call_id`;
  throw new RepriseError("invalid_request", `${param}: names no call that waits for an answer`, { param });
}
