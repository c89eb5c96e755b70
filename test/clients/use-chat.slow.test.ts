import type { Page } from "playwright-core";
import { afterAll, afterEach, expect, test } from "vitest";
import { readDocument } from "../e2e/testing/document.ts";
import { runChatCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { startPlatform } from "./testing/platform.ts";
import { STALLING, STORY } from "./testing/sim.ts";
import { readTold, send, serveChats, untilEnded } from "./testing/use-chat.ts";

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
// Two tests kill a worker.
const platform = stack.use(await startPlatform({ workers: 2, moderation: true }));
const readme = readDocument("README.md").block("tsx", "useChat");
const { client, open, problems } = stack.use(
  await serveChats(platform, readme.replace("http://127.0.0.1:8080", platform.url)),
);

afterEach(() => expect(problems).toEqual([]));

const WHOLE = { text: STORY.text, finish: "stop", error: undefined };

testCells("useChat", (name) => runChatCase(name, platform, client));

const untilShown = (page: Page, text: string) =>
  page.waitForFunction((shown) => document.querySelector(".assistant")?.textContent.includes(shown), text);

test("a page with useChat that reloads in mid-answer shows the whole answer, from one run", async () => {
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

test("useChat's stop leaves the run, and POST …/stop ends it", async () => {
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
