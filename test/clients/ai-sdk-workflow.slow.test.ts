import { createSeededRandom } from "@reprise/testkit";
import { afterAll, expect, test, vi } from "vitest";
import * as cases from "./testing/cases.ts";
import { startPlatform } from "./testing/platform.ts";
import { STORY } from "./testing/sim.ts";
import * as uiCases from "./testing/ai-sdk-ui/ui-cases.ts";
import { toldIn } from "./testing/ai-sdk-ui/ui-told.ts";
import { openWorkflowChat, workflowTransport } from "./testing/ai-sdk-ui/workflow-chat.ts";

// Two of its workers are killed.
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

// The transport prints each connection that it loses.
vi.spyOn(console, "error").mockImplementation(() => {});

/** The transport gives up where a connection is lost before its head: each is cut in its middle. */
async function cutNext(count: number) {
  const before = { cuts: platform.cuts, runs: await platform.runs() };
  platform.cutNext(createSeededRandom(11), { count, from: 1_500, to: 2_500 });
  return before;
}
const WHOLE = { text: STORY.text, finish: "stop", error: undefined };

test("WorkflowChatTransport | plain", () => cases.plain(platform, workflowTransport));
test("WorkflowChatTransport | tools", () => cases.tools(platform, workflowTransport));
test("WorkflowChatTransport | reasoning", () => cases.reasoning(platform, workflowTransport));
test("WorkflowChatTransport | structured", () => cases.structured(platform, workflowTransport));

test("WorkflowChatTransport | cancel", () => cases.cancel(platform, workflowTransport));
test("WorkflowChatTransport | failure", () => uiCases.failure(platform, workflowTransport));
test("WorkflowChatTransport | takeover with continuation", () =>
  cases.takeoverWithContinuation(platform, workflowTransport));

test("WorkflowChatTransport | takeover without continuation", () =>
  uiCases.takeoverWithoutContinuation(platform, workflowTransport));
test("WorkflowChatTransport | observe", () => cases.observe(platform, workflowTransport));
test("WorkflowChatTransport | gate", () => cases.gate(platform, workflowTransport));
test("WorkflowChatTransport | retract", () => cases.retract(platform, workflowTransport));

test("WorkflowChatTransport | random cuts", async () => {
  const before = await cutNext(3);
  expect(await workflowTransport.ask({ platform, scripts: [STORY] })).toMatchObject(WHOLE);
  expect(platform.cuts - before.cuts).toBe(3);
  expect((await platform.runs()) - before.runs).toBe(1);
});

test("WorkflowChatTransport gives up at the third GET that breaks, and a resume by the page has the whole text", async () => {
  const before = await cutNext(4);
  const chat = openWorkflowChat({ platform, scripts: [STORY] });
  await chat.sendMessage({ text: "Say it." });
  expect(chat.error).toMatchObject({ message: expect.stringMatching(/after 3 consecutive errors/) });
  await chat.resumeStream();
  expect(toldIn(chat)).toMatchObject(WHOLE);
  expect((await platform.runs()) - before.runs).toBe(1);
});

test("WorkflowChatTransport that resumes a chat without a run has nothing, and no error", async () => {
  const chat = openWorkflowChat({ platform, scripts: [STORY] });
  await chat.resumeStream();
  expect([chat.messages, chat.status, chat.error]).toEqual([[], "ready", undefined]);
});
