import {
  appendDecision,
  type Decision,
  type GenerationLog,
  readPolicy,
  type GenerationCache,
} from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import { holdingModeration } from "@reprise/moderation";
import {
  type Generation,
  type GenerationRef,
  RepriseError,
  type ToolResult,
  type Transcript,
  type Seq,
} from "@reprise/protocol";
import { createCurrentReader } from "./current-reader.ts";
import { type ReadSources, showAfter, SHOWN_MS } from "./shown-generation.ts";
import { waitForCache } from "./wait-for-cache.ts";

/**
 * Appends `tool.result`, unless the generation does not wait for it. Of all answers to one call, at all nodes, the log
 * takes the first; the others get `tool_result_conflict`, even with the same output. A call that moderation does not show to
 * readers is answered like one that does not exist: a client that names it has guessed.
 * @throws RepriseError `tool_call_not_found`, `tool_result_conflict`, `generation_ended`; `generation_not_found`,
 *   `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function answerToolCall(
  sources: ReadSources,
  ref: GenerationRef,
  result: ToolResult,
): Promise<Generation> {
  const { log, shownMs = SHOWN_MS } = sources;
  const held = await openHeld(sources, ref);
  let answer = await tryAnswer({ log, held }, ref, result);
  // Another node may have heard already that moderation has cleared the call.
  const { unshownSeq } = answer;
  if (held && unshownSeq !== undefined) {
    await waitForCache(held, () => held.shownSeq >= unshownSeq || held.failure !== undefined, {
      waitMs: shownMs,
    });
    if (held.failure) throw held.failure;
  }
  // A replica that lags may not have the call yet that another one has shown: that there is none, only the leader can say.
  if (answer.refusal?.code === "tool_call_not_found")
    answer = await tryAnswer({ log: { ...log, reader: createCurrentReader(log) }, held }, ref, result);
  if (answer.refusal) throw answer.refusal;
  return showAfter(sources, ref, answer.decision);
}

/** The cache of a generation whose readers may have to wait for moderation; undefined for any other. */
async function openHeld({ log, hub }: ReadSources, ref: GenerationRef): Promise<GenerationCache | undefined> {
  const first = await log.reader.readFirst(ref);
  if (!first || !holdingModeration(readPolicy(first.payload))) return undefined;
  const cache = await hub.open(ref);
  await hub.refresh(cache);
  return cache;
}

interface Answer {
  readonly refusal: RepriseError | undefined;
  /** The call's own, where readers may not see it. */
  readonly unshownSeq: Seq | undefined;
  readonly decision: Decision;
}

async function tryAnswer(
  { log, held }: { log: Omit<GenerationLog, "connected" | "close">; held: GenerationCache | undefined },
  ref: GenerationRef,
  { call_id, output, content }: ToolResult,
): Promise<Answer> {
  let refusal: RepriseError | undefined;
  let unshownSeq: Seq | undefined;
  const decision = await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide(current) {
      const seq = current.callSeq(call_id);
      unshownSeq = held && seq !== undefined && seq > held.shownSeq ? seq : undefined;
      refusal = unshownSeq === undefined ? refusalOf(current, call_id) : notWaiting(call_id);
      if (refusal) return undefined;
      return { type: "tool.result", call_id, ...(content ? { content } : { output: output ?? null }) };
    },
  });
  return { refusal, unshownSeq, decision };
}

/**
 * Checks for an earlier answer first: a repeated answer gets `tool_result_conflict`, also once the generation has ended. Only a call that
 * the log has gets `generation_ended`: else that code would tell a hidden call from a missing one.
 */
function refusalOf(transcript: Transcript, callId: string): RepriseError | undefined {
  if (transcript.hasResult(callId)) {
    const message = `The tool call "${callId}" has its answer already.`;
    return new RepriseError("tool_result_conflict", message, { param: "call_id" });
  }
  if (transcript.ended && transcript.keepsCall(callId))
    return new RepriseError("generation_ended", `The generation is ${transcript.status}.`);
  if (transcript.pendingCalls.some(({ call_id }) => call_id === callId)) return undefined;
  return notWaiting(callId);
}

function notWaiting(callId: string): RepriseError {
  const message = `There is no tool call "${callId}" that waits.`;
  return new RepriseError("tool_call_not_found", message, { param: "call_id" });
}
