import type { GenerationLog } from "@reprise/log";
import { expect, test } from "vitest";
import { append, createGeneration, delta, openPlatform, started, toolCall } from "../testing/platform.ts";
import { answerToolCall } from "./answer-tool-call.ts";

/** The log as a replica has it that lacks its last events. */
function lagging(log: GenerationLog, by: number): GenerationLog {
  const readLog: GenerationLog["reader"]["readLog"] = async (ref) => {
    const events = (await log.leader.readTail(ref, 0)).slice(0, -by);
    return { events: events.map(({ payload }) => payload), streamSeq: events.at(-1)!.streamSeq };
  };
  return { ...log, reader: { ...log.reader, readLog } };
}

test("a call that only the log's leader knows yet can be answered", async () => {
  await using platform = await openPlatform();
  const { worker, ref } = await createGeneration(platform);
  await append(worker, started(), delta("Let me see. "), toolCall("a"), toolCall("b"));
  const log = lagging(platform.log, 2);
  const answered = await answerToolCall(log, ref, { call_id: "b", output: 1 });
  expect(answered).toMatchObject({ status: "awaiting_tool", tool_calls: [{ call_id: "a" }], cursor: "1-5" });
  await expect(answerToolCall(log, ref, { call_id: "c", output: 1 })).rejects.toMatchObject({
    code: "tool_call_not_found",
  });
});

test("an answer that a lagging replica does not know of is the answer all the same", async () => {
  await using platform = await openPlatform();
  const { worker, ref } = await createGeneration(platform);
  await append(worker, started(), toolCall("a"));
  await answerToolCall(platform.log, ref, { call_id: "a", output: 1 });
  const late = answerToolCall(lagging(platform.log, 1), ref, { call_id: "a", output: 2 });
  await expect(late).rejects.toMatchObject({ code: "tool_result_conflict" });
  expect((await platform.log.reader.readLog(ref)).events).toHaveLength(4);
});
