import { createSeededRandom } from "@reprise/testkit";
import { afterAll, expect, test } from "vitest";
import { startPlatform } from "./testing/platform.ts";
import {
  CALLED,
  CALLING,
  CARD,
  FAILING,
  QUICK,
  REASONED,
  REASONING,
  RESTARTING,
  type Script,
  SLOW,
  STALLING,
  STORY,
  STRUCTURED,
  WEATHER,
} from "./testing/sim.ts";
import { takeOver } from "./testing/take-over.ts";
import { askByDefault, ASKED, finishOf, partsOf, textOf, typesOf, type UiAsk } from "./testing/ui-chat.ts";
import { untilStalled } from "./testing/until-stalled.ts";

// One of its workers is killed.
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

const ask = (script: Script, options?: UiAsk) => askByDefault(platform, script, options);

test("AI SDK DefaultChatTransport | plain", async () => {
  const told = await ask(QUICK);
  expect([textOf(told), finishOf(told), told.error]).toEqual([QUICK.text, "stop", undefined]);
  expect(told.message?.metadata).toMatchObject({ model: "sim", usage: { outputTokens: expect.any(Number) } });
});

test("AI SDK DefaultChatTransport | tools", async () => {
  const body = { tools: { look_up: { description: "Looks it up.", inputSchema: { type: "object" } } } };
  const asked = await ask(CALLING, { body });
  const call = partsOf(asked).find(({ type }) => type === "tool-look_up");
  expect([call, finishOf(asked)]).toMatchObject([{ state: "input-available", input: CALLED }, "tool-calls"]);
  const parts = partsOf(asked).map((part) =>
    part === call ? { ...part, state: "output-available", output: { found: 1 } } : part,
  );
  const answered = { ...asked.message!, parts } as typeof ASKED;
  const told = await ask(
    { ...CALLING, options: { chunks: ["Found."] } },
    { body, messages: [ASKED, answered] },
  );
  expect([told.message?.id, textOf(told)]).toEqual([answered.id, `${CALLING.text}Found.`]);
});

test("AI SDK DefaultChatTransport | reasoning", async () => {
  const told = await ask(REASONING);
  expect(textOf(told)).toBe(REASONING.text);
  expect(partsOf(told)).toContainEqual(expect.objectContaining({ type: "reasoning", text: REASONED }));
});

test("AI SDK DefaultChatTransport | structured", async () => {
  const told = await ask(STRUCTURED, {
    body: { responseFormat: { type: "json", schema: { type: "object" } } },
  });
  expect(JSON.parse(textOf(told))).toEqual(WEATHER);
});

test("AI SDK DefaultChatTransport | cancel", async () => {
  const asking = ask(STALLING);
  await platform.cancel(await untilStalled(platform, asking));
  const told = await asking;
  expect([textOf(told), finishOf(told), told.error]).toEqual([STALLING.text, "other", undefined]);
  expect(typesOf(told)).toContain("abort");
});

test("AI SDK DefaultChatTransport | failure", async () => {
  const told = await ask(FAILING);
  expect(textOf(told)).toBe(FAILING.text);
  expect(told.chunks).toContainEqual(expect.objectContaining({ type: "error", code: "engine_failed" }));
  expect(told.error).toBeInstanceOf(Error);
});

test("AI SDK DefaultChatTransport | takeover with continuation", async () => {
  const told = await takeOver(platform, SLOW, (script) => ask(script));
  expect([textOf(told), finishOf(told)]).toEqual([SLOW.text, "stop"]);
  expect(typesOf(told)).not.toContain("reset-step");
});

test("AI SDK DefaultChatTransport | takeover without continuation", async () => {
  const told = await takeOver(platform, RESTARTING, (script) => ask(script));
  expect([textOf(told), finishOf(told), told.error]).toEqual([RESTARTING.text, "stop", undefined]);
  expect(typesOf(told)).toContain("reset-step");
});

test("AI SDK DefaultChatTransport | random cuts", async () => {
  // Connections that are kept open would be used again, and are not cut.
  platform.cutNow();
  const before = { cuts: platform.cuts, runs: await platform.runs() };
  platform.cutNext(createSeededRandom(17), { count: 4 });
  const told = await ask(STORY);
  expect([textOf(told), finishOf(told), told.error]).toEqual([STORY.text, "stop", undefined]);
  expect(platform.cuts - before.cuts).toBe(4);
  expect((await platform.runs()) - before.runs).toBe(1);
});

test("AI SDK DefaultChatTransport | observe", async () => {
  expect(textOf(await ask(CARD, { tenant: "observe" }))).toBe(CARD.text);
});

test("AI SDK DefaultChatTransport | gate", async () => {
  expect(textOf(await ask(CARD, { tenant: "gate" }))).toBe(CARD.shown);
});

test("AI SDK DefaultChatTransport | retract", async () => {
  expect(textOf(await ask(CARD, { tenant: "retract" }))).toBe(CARD.shown);
});
