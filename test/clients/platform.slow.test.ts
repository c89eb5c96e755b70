import { createClient } from "@reprise/client";
import { createSeededRandom } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Platform, startPlatform, type Tenant } from "./testing/platform.ts";
import {
  CALLED,
  CALLING,
  CARD,
  FAILING,
  fetchWith,
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
import { untilStalled } from "./testing/until-stalled.ts";

const REQUEST = { model: "sim", input: "Say it.", tools: [{ name: "look_up" }], tool_calls: "end" as const };

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ workers: 2, moderation: true });
});
afterAll(() => platform[Symbol.asyncDispose]());

/** What the platform's own client is told of a generation. */
async function run({ options }: Script, tenant?: Tenant) {
  const fetch = fetchWith({ options });
  const client = createClient({ url: platform.url, apiKey: platform.key(tenant), fetch });
  const stream = client.generations.run(REQUEST);
  const calls: unknown[] = [];
  let reasoning = "";
  for await (const event of stream) {
    if (event.type === "reasoning.delta") reasoning += event.text;
    if (event.type === "tool.call") calls.push(JSON.parse(event.arguments));
  }
  const { text, status } = await stream.done();
  return { text, status, reasoning, calls };
}

test("a client reads one run through cuts at random bytes and over a killed worker", async () => {
  platform.cutNext(createSeededRandom(7), { count: 4 });
  const read = await takeOver(platform, SLOW, async (script) => {
    const before = await platform.runs();
    return { ...(await run(script)), runs: (await platform.runs()) - before };
  });
  expect(read).toMatchObject({ text: SLOW.text, runs: 1 });
  expect(platform.cuts).toBeGreaterThan(1);
});

test("each script has its text, and what it says beside that", async () => {
  const scripts = [REASONING, CALLING, STRUCTURED, STORY, RESTARTING];
  const said = await Promise.all(scripts.map((script) => run(script)));
  expect(said.map(({ text }) => text)).toEqual(scripts.map(({ text }) => text));
  const [reasoning, calling, structured] = said;
  expect(reasoning?.reasoning).toBe(REASONED);
  expect(calling?.calls).toEqual([CALLED]);
  expect(JSON.parse(structured?.text ?? "")).toEqual(WEATHER);
  expect(await run(FAILING)).toMatchObject({ status: "failed", text: FAILING.text });

  const stalled = run(STALLING);
  await platform.cancel(await untilStalled(platform, stalled));
  expect(await stalled).toMatchObject({ status: "cancelled", text: STALLING.text });

  const tenants = ["plain", "observe", "gate", "retract"] as const;
  const cards = await Promise.all(tenants.map((tenant) => run(CARD, tenant)));
  expect(cards.map(({ text }) => text)).toEqual([CARD.text, CARD.text, CARD.shown, CARD.shown]);
});
