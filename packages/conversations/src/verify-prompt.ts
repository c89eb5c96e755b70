import { isDeepStrictEqual } from "node:util";
import { Semaphore } from "@reprise/async";
import {
  blobsIn,
  decodeEvent,
  type EndedTurn,
  type GenerationRef,
  peekSeq,
  type Prompt,
  type PromptSegment,
  RepriseError,
  type RequestedEvent,
  type TenantId,
  toSegments,
  toSummary,
  Transcript,
  withoutMedia,
} from "@reprise/protocol";
import { readCurrentLog, type GenerationLog, type LogSnapshot } from "@reprise/stream";

const AT_ONCE = 16;

export type CurrentLogs = Pick<GenerationLog, "reader" | "leader">;

/**
 * Returns a prompt as it may be given to a model now, without text that moderation or a reviewer has withdrawn since the prompt was made. If a turn's
 * log is no longer kept, nothing can be withdrawn from it any more.
 *
 * Makes one request to a leader for each turn, at most 16 at once, and reads the turns that have changed. The leader is asked because a replica that
 * lags shows a turn as it was before a withdrawal, and a reviewer also withdraws text of turns that moderation did not judge. Turns are erased with
 * their whole conversation, including the turn that asks. So erasure is not checked here: an erased turn has no log, like one that is no longer kept.
 * @returns the same prompt if nothing has changed
 * @throws RepriseError `generation_erased` if a changed turn is erased before it is read, `broker_unavailable`
 */
export async function verifyPrompt(log: CurrentLogs, tenant: TenantId, prompt: Prompt): Promise<Prompt> {
  const gate = new Semaphore(AT_ONCE);
  const verified = await Promise.all(
    prompt.map((segment) => gate.run(() => verifySegment(log, tenant, segment))),
  );
  if (verified.every((segment, i) => segment === prompt[i])) return prompt;
  return verified.filter((segment) => segment !== undefined);
}

/** @returns the same segment where nothing has changed; undefined where nothing is left of the turn */
async function verifySegment(
  log: CurrentLogs,
  tenant: TenantId,
  segment: PromptSegment,
): Promise<PromptSegment | undefined> {
  const { generation, seq } = segment;
  // A running turn contributes only its input.
  if (generation === undefined || seq === undefined) return segment;
  const ref: GenerationRef = { tenant, generation };
  if (segment.summary) return verifySummary(log, ref, segment);
  const last = await log.leader.readLast(ref);
  if (last && peekSeq(last.payload) <= seq) return segment;
  // An empty log has expired or was erased: reading it tells which.
  const read = await readKept(log, ref);
  const turn = read && last && foldTurn(read.events);
  const changed = turn ? toSegments(turn).segment : segment;
  if (!changed) return undefined;
  // What was not kept when the prompt was made is not there now.
  const kept = blobsIn(segment);
  return withoutMedia(changed, (blob) => !kept.has(blob));
}

/**
 * A summary has words of turns that are in no prompt any more: where any of these were withdrawn since it was asked for, it is left out.
 * @returns as `verifySegment`
 */
async function verifySummary(
  log: CurrentLogs,
  ref: GenerationRef,
  segment: PromptSegment,
): Promise<PromptSegment | undefined> {
  const read = await readKept(log, ref);
  const turn = read && foldTurn(read.events);
  if (!turn) return segment;
  const { prompt = [] } = turn.requested;
  const verified = await verifyPrompt(log, ref.tenant, prompt);
  if (verified !== prompt && !isDeepStrictEqual(wordsOf(verified), wordsOf(prompt))) return undefined;
  return turn.seq <= (segment.seq ?? 0) ? segment : toSummary(turn);
}

const wordsOf = (prompt: Prompt) => prompt.map(({ items }) => items);

async function readKept(log: CurrentLogs, ref: GenerationRef): Promise<LogSnapshot | undefined> {
  try {
    return await readCurrentLog(log, ref);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "generation_expired") return undefined;
    throw error;
  }
}

/** A turn as its events tell it, from seq 0 on; undefined without seq 0. */
export function foldTurn(events: readonly Uint8Array[]): LoggedTurn | undefined {
  const [first] = events;
  const requested = first && decodeEvent(first);
  if (requested?.type !== "generation.requested") return undefined;
  const transcript = new Transcript();
  for (const payload of events) transcript.apply(decodeEvent(payload));
  return { requested, transcript, seq: transcript.cursor.seq };
}

/** A turn as far as its log goes. */
export interface LoggedTurn extends EndedTurn {
  readonly requested: RequestedEvent;
}
