import type { Hub } from "@reprise/stream";
import { expect, test } from "vitest";
import { lagging } from "../testing/lagging.ts";
import { append, createGeneration, delta, openPlatform, started, toolCall } from "../testing/platform.ts";
import { answerToolCall } from "./answer-tool-call.ts";

const NO_HUB = {} as Hub;

test("a call that only the log's leader knows yet can be answered", async () => {
  await using platform = await openPlatform();
  const { worker, ref } = await createGeneration(platform);
  await append(worker, started(), delta("Let me see. "), toolCall("a"), toolCall("b"));
  const log = lagging(platform.log, 2);
  const answered = await answerToolCall({ log, hub: NO_HUB }, ref, { call_id: "b", output: 1 });
  expect(answered).toMatchObject({ status: "awaiting_tool", tool_calls: [{ call_id: "a" }], cursor: "1-5" });
  await expect(answerToolCall({ log, hub: NO_HUB }, ref, { call_id: "c", output: 1 })).rejects.toMatchObject({
    code: "tool_call_not_found",
  });
});

test("an answer that a lagging replica does not know of is the answer all the same", async () => {
  await using platform = await openPlatform();
  const { worker, ref } = await createGeneration(platform);
  await append(worker, started(), toolCall("a"));
  await answerToolCall({ log: platform.log, hub: NO_HUB }, ref, { call_id: "a", output: 1 });
  const late = answerToolCall({ log: lagging(platform.log, 1), hub: NO_HUB }, ref, {
    call_id: "a",
    output: 2,
  });
  await expect(late).rejects.toMatchObject({ code: "tool_result_conflict" });
  expect((await platform.log.reader.readLog(ref)).events).toHaveLength(4);
});
