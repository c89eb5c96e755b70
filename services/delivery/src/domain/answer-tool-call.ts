import { appendDecision, createWriterName, type Decision, type GenerationLog } from "@reprise/log";
import {
  type Generation,
  type GenerationRef,
  RepriseError,
  type ToolResult,
  type Transcript,
} from "@reprise/protocol";
import { readingFromLeader } from "./reading-from-leader.ts";
import { type ReadSources, showAfter } from "./shown-generation.ts";

/**
 * Appends `tool.result`, unless the log says that nobody waits for it. Of all answers to one call, at whatever nodes, the log
 * takes the first; the others learn that there is one already, though they say the same.
 * @throws RepriseError `tool_call_not_found`, `tool_result_conflict`, `generation_ended`; `generation_not_found`,
 *   `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function answerToolCall(
  sources: ReadSources,
  ref: GenerationRef,
  result: ToolResult,
): Promise<Generation> {
  const { log } = sources;
  let answer = await tryAnswer(log, ref, result);
  // A replica that lags may not have the call yet that another one has shown: that there is none, only the leader can say.
  if (answer.refusal?.code === "tool_call_not_found")
    answer = await tryAnswer({ ...log, reader: readingFromLeader(log) }, ref, result);
  if (answer.refusal) throw answer.refusal;
  return showAfter(sources, ref, answer.decision);
}

async function tryAnswer(
  log: Omit<GenerationLog, "connected" | "close">,
  ref: GenerationRef,
  { call_id, output }: ToolResult,
): Promise<{ refusal: RepriseError | undefined; decision: Decision }> {
  let refusal: RepriseError | undefined;
  const decision = await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide(current) {
      refusal = refusalOf(current, call_id);
      return refusal ? undefined : { type: "tool.result", call_id, output };
    },
  });
  return { refusal, decision };
}

/** An answered call is one whatever became of its generation: whoever repeats an answer learns that there is one. */
function refusalOf(transcript: Transcript, callId: string): RepriseError | undefined {
  const param = "call_id";
  if (transcript.hasResult(callId)) {
    const message = `The tool call "${callId}" has its answer already.`;
    return new RepriseError("tool_result_conflict", message, { param });
  }
  if (transcript.ended)
    return new RepriseError("generation_ended", `The generation is ${transcript.status}.`);
  if (transcript.pendingCalls.some(({ call_id }) => call_id === callId)) return undefined;
  return new RepriseError("tool_call_not_found", `There is no tool call "${callId}" that waits.`, { param });
}
