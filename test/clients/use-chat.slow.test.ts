import { createSeededRandom } from "@reprise/testkit";
import type { Page } from "playwright-core";
import { afterAll, afterEach, expect, test as base } from "vitest";
import { openBrowser } from "../e2e/testing/browser.ts";
import { readDocument } from "../e2e/testing/document.ts";
import * as cases from "./testing/cases.ts";
import { startPlatform } from "./testing/platform.ts";
import { STALLING, STORY } from "./testing/sim.ts";
import * as uiCases from "./testing/ai-sdk-ui/ui-cases.ts";
import { readTold, send, serveChats, untilEnded } from "./testing/ai-sdk-ui/use-chat.ts";

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// Two of its workers are killed.
const platform = stack.use(await startPlatform({ workers: 2, moderation: true }));
const browser = stack.adopt(await openBrowser(), (opened) => opened?.close());
const readme = readDocument("README.md").block("tsx", "useChat");
const { client, open, problems } = stack.use(
  await serveChats(browser, platform, readme.replace("http://127.0.0.1:8080", platform.url)),
);

afterEach(() => expect(problems).toEqual([]));

const test = base.skipIf(!browser);
const WHOLE = { text: STORY.text, finish: "stop", error: undefined };

test("useChat | plain", () => cases.plain(platform, client));
test("useChat | tools", () => cases.tools(platform, client));
test("useChat | reasoning", () => cases.reasoning(platform, client));
test("useChat | structured", () => cases.structured(platform, client));
test("useChat | cancel", () => cases.cancel(platform, client));
test("useChat | failure", () => uiCases.failure(platform, client));
test("useChat | takeover with continuation", () => cases.takeoverWithContinuation(platform, client));
test("useChat | takeover without continuation", () => uiCases.takeoverWithoutContinuation(platform, client));
test("useChat | observe", () => cases.observe(platform, client));
test("useChat | gate", () => cases.gate(platform, client));
test("useChat | retract", () => cases.retract(platform, client));

test("useChat | random cuts", async () => {
  // Connections that are kept open would be used again, and are not cut.
  platform.cutNow();
  const before = { cuts: platform.cuts, runs: await platform.runs() };
  platform.cutNext(createSeededRandom(11), { count: 4, from: 1_500, to: 4_000 });
  expect(await client.ask({ platform, scripts: [STORY] })).toMatchObject(WHOLE);
  expect(platform.cuts - before.cuts).toBe(4);
  expect((await platform.runs()) - before.runs).toBe(1);
});

const untilShown = (page: Page, text: string) =>
  page.waitForFunction((shown) => document.querySelector(".assistant")?.textContent.includes(shown), text);

test("a page with useChat that is reloaded in mid-answer has the whole answer, from one run", async () => {
  const before = await platform.runs();
  const page = await open();
  const sending = send(page, { options: STORY.options });
  await untilShown(page, "word 20 ");
  await Promise.all([page.reload(), expect(sending).rejects.toThrow(/navigation/)]);
  await untilEnded(page);
  expect(await readTold(page)).toMatchObject(WHOLE);
  expect(await page.locator("p").evaluateAll((all) => all.map(({ className }) => className))).toEqual([
    "user",
    "assistant",
  ]);
  expect((await platform.runs()) - before).toBe(1);
});

test("useChat's stop leaves an answer that goes on, and the chat's own stop ends it", async () => {
  const page = await open();
  const sending = send(page, { options: STALLING.options });
  await untilShown(page, "word 19 ");
  await page.evaluate(() => window.chat.stop());
  await sending;
  await page.waitForFunction(() => window.chat.status === "ready");
  await page.reload();
  await untilShown(page, "word 19 ");
  await page.waitForFunction(() => window.chat.status === "streaming");
  const stopped = await page.evaluate(async (api) => {
    const headers = { Authorization: `Bearer ${location.hash.slice(1)}` };
    return (await fetch(`${api}/${window.chat.id}/stop`, { method: "POST", headers })).status;
  }, `${platform.url}/v1/ai-sdk/chat`);
  expect(stopped).toBe(200);
  await untilEnded(page);
  expect(await readTold(page)).toMatchObject({
    text: STALLING.text,
    finish: "cancelled",
    error: undefined,
  });
});
