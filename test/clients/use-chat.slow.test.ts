import type { Page } from "playwright-core";
import { afterAll, afterEach, expect, test } from "vitest";
import { readDocument } from "../e2e/testing/document.ts";
import { runChatCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { startPlatform } from "./testing/platform.ts";
import { QUICK, STALLING, STORY } from "./testing/sim.ts";
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

/** Texts of a chat by role, in order. */
const textsOf = (page: Page) =>
  page.locator("p").evaluateAll((all) => all.map((p) => [p.className, p.textContent]));

test("a question whose connection is cut before its answer is sent again and joins, and the answer before it is not shown twice", async () => {
  const before = await platform.runs();
  const page = await open();
  await send(page, { options: QUICK.options });
  await untilEnded(page);
  void send(page, { options: { ...QUICK.options, first_token_ms: 3_000 } });
  await expect.poll(() => platform.runs()).toBe(before + 2);
  // Chromium itself sends a call again whose connection was used before.
  const isLost = () => page.evaluate(() => window.chat.error instanceof TypeError);
  await expect.poll(() => (platform.cutNow(), isLost())).toBe(true);
  await untilEnded(page);
  const turn = [
    ["user", "Say it."],
    ["assistant", QUICK.text],
  ];
  expect(await textsOf(page)).toEqual([...turn, ...turn]);
  expect((await platform.runs()) - before).toBe(2);
});

test("a page with useChat calls again after a proxy's 503, for its question and its answer, in one run", async () => {
  const before = await platform.runs();
  const page = await open();
  const answered: string[] = [];
  /** Answers the next call in the place of the platform. */
  const refuseNext = () =>
    page.route(
      `${platform.url}/**`,
      async (route) => {
        answered.push(route.request().method());
        await route.fulfill({ status: 503, body: "no", headers: { "access-control-allow-origin": "*" } });
      },
      { times: 1 },
    );
  await refuseNext();
  void send(page, { options: STORY.options });
  await untilShown(page, "word 20 ");
  await refuseNext();
  platform.cutNow();
  await untilEnded(page);
  expect(await readTold(page)).toMatchObject(WHOLE);
  expect(answered).toEqual(["POST", "GET"]);
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
