import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createClient } from "@reprise/client";
import { claimProducer } from "@reprise/client/produce";
import type { KnownEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startCluster, textOf } from "./testing/cluster.ts";

/* Generations that another process than a worker writes. */

const PRODUCER = fileURLToPath(new URL("testing/producer-process.ts", import.meta.url));
const WORDS = 400;
const TEXT = Array.from({ length: WORDS }, (_, i) => `wörd-${i} `).join("");
const isEnd = ({ type }: KnownEvent) => /completed|failed|cancelled/.test(type);

/** Starts a producer, which continues a generation if it has an id; resolves with that once it has one. */
async function startProducer(url: string, key: string, id?: string) {
  const args = [PRODUCER, url, key, String(WORDS), ...(id === undefined ? [] : [id])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit") as Promise<[number | null, string | null]>;
  let failure = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => void (failure += part));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, exited, id: line.toString().trim(), failure: () => failure };
}

test("a producer is killed in mid-answer, and another one continues it at another node, byte for byte", async () => {
  await using cluster = await startCluster();
  const [near, far] = await Promise.all([cluster.startDelivery(), cluster.startDelivery()]);
  const key = cluster.keys["acme"]!;
  const killed = await startProducer(near.url, key);
  const { id } = killed;
  const reading = createClient({ url: far.url, apiKey: key }).generations.stream(id).done();
  await cluster.untilLog("acme", id, (log) => log.length > 20);
  killed.child.kill("SIGKILL");
  expect(await killed.exited).toEqual([null, "SIGKILL"]);
  const cut = textOf(await cluster.untilLog("acme", id, () => true));
  expect(TEXT.startsWith(cut)).toBe(true);
  expect(cut.length).toBeLessThan(TEXT.length);
  const next = await startProducer(far.url, key, id);
  expect(await next.exited).toEqual([0, null]);
  const events = await cluster.untilLog("acme", id, (log) => log.some(isEnd));
  expect(textOf(events)).toBe(TEXT);
  expect(events.flatMap((event) => (event.type === "generation.started" ? [event.attempt] : []))).toEqual([
    1, 2,
  ]);
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", finish_reason: "stop" });
  expect(await reading).toMatchObject({ status: "completed", text: TEXT });
});

test("a producer that was cut off is fenced when it is back", async () => {
  await using cluster = await startCluster();
  const [near, far] = await Promise.all([cluster.startDelivery(), cluster.startDelivery()]);
  const key = cluster.keys["acme"]!;
  const stopped = await startProducer(near.url, key);
  const { id } = stopped;
  await cluster.untilLog("acme", id, (log) => log.length > 5);
  stopped.child.kill("SIGSTOP");
  const client = createClient({ url: far.url, apiKey: key });
  const producer = await claimProducer(client, id, { rewind: true });
  stopped.child.kill("SIGCONT");
  await producer.append("mine");
  // Its next append throws `producer_fenced`, which it does not catch.
  expect(await stopped.exited).toEqual([1, null]);
  expect(stopped.failure()).toContain("producer_fenced");
  await producer.end();
  expect(await client.generations.get(id)).toMatchObject({ status: "completed", text: "mine" });
});
