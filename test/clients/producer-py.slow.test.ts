import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createSeededRandom } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../e2e/testing/document.ts";
import { textOf } from "../e2e/testing/cluster.ts";
import { type Platform, startPlatform } from "./testing/platform.ts";

/* `examples/producer.py`, as it is. */

const WORDS = Array.from({ length: 60 }, (_, i) => `wörd-${i} 😀 `);
const TEXT = WORDS.join("");

let platform: Platform;
beforeAll(async () => (platform = await startPlatform()));
afterAll(async () => platform?.[Symbol.asyncDispose]());

/** Starts the program with the platform's proxy as the server. */
function startProducer(...args: string[]) {
  const program = join(ROOT, "examples/producer.py");
  const env = { ...process.env, REPRISE_API_KEY: platform.key() };
  const child = spawn("python3", [program, platform.url, ...args], { env });
  return { child, exited: once(child, "exit"), failure: text(child.stderr) };
}

test("producer.py stores each word once while its connections are cut", async () => {
  const { child, exited, failure } = startProducer("Say words.");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const id = line.toString().trim();
  const { cuts } = platform;
  // Each call has a connection of its own, and its answer has more bytes than these.
  using _ = platform.cutNext(createSeededRandom(11), { count: 6, from: 1, to: 100 });
  for (const [i, word] of WORDS.entries()) {
    child.stdin.write(word);
    await platform.untilLog(id, (log) => textOf(log).endsWith(`wörd-${i} 😀 `));
  }
  child.stdin.end();
  expect([await exited, await failure]).toEqual([[0, null], ""]);
  expect(platform.cuts).toBe(cuts + 6);
  const log = await platform.untilLog(id, (events) => events.at(-1)?.type === "generation.completed");
  expect(textOf(log)).toBe(TEXT);
});

test("producer.py continues the log of one that was killed", async () => {
  const killed = startProducer("Say words.");
  const [line] = (await once(killed.child.stdout, "data")) as [Buffer];
  const id = line.toString().trim();
  killed.child.stdin.write(WORDS.slice(0, 20).join(""));
  await platform.untilLog(id, (log) => textOf(log).includes("wörd-19 "));
  killed.child.kill("SIGKILL");
  await killed.exited;
  const next = startProducer("--continue", id);
  next.child.stdin.end(TEXT);
  expect([await next.exited, await next.failure]).toEqual([[0, null], ""]);
  const log = await platform.untilLog(id, (events) => events.at(-1)?.type === "generation.completed");
  expect(textOf(log)).toBe(TEXT);
});
