import { createClient, type GenerationRequest } from "@reprise/client";
import { inputOf, interrupt } from "@reprise/client/input";
import type { JsonValue, KnownEvent, ModerationPolicy } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Cluster, startCluster, textOf } from "./testing/cluster.ts";
import { PATIENT } from "./testing/moderated.ts";

/* Interrupts: what counts of an answer is what was heard of it, for every reader and in the conversation. */

const isEnd = ({ type }: KnownEvent) => /completed|failed|cancelled/.test(type);
const REWIND = { type: "output.rewind", reason: "interrupted" };
const SLOW = { tokens: 2_000, tokens_per_second: 25 };

async function openPlatform(options?: Parameters<typeof startCluster>[0]) {
  const cluster = await startCluster(options);
  const [{ url }, worker] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
  const apiKey = cluster.keys["acme"]!;
  const post = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };
  return { cluster, url, worker, apiKey, post, client: createClient({ url, apiKey }) };
}

/** Reads until this many deltas have come. */
async function hear(stream: AsyncIterable<{ type: string }>, deltas: number): Promise<void> {
  let heard = 0;
  for await (const { type } of stream) if (type === "output.delta" && ++heard === deltas) return;
}

const untilEnd = (cluster: Cluster, id: string) =>
  cluster.untilLog("acme", id, (events) => events.some(isEnd));

test("an interrupt ends an answer with what was heard, once, and nothing follows it", async () => {
  const { cluster, client, post } = await openPlatform();
  await using _ = cluster;
  const stream = client.generations.run({ model: "sim", input: "Hi", options: SLOW });
  await hear(stream, 3);
  const [heard, id] = [stream.text, stream.id!];
  const path = `/v1/generations/${id}/interrupt`;
  for (const [body, code] of [
    [null, "invalid_request"],
    [{}, "invalid_request"],
    [{ heard: 1_200 }, "invalid_request"],
    [{ heard: stream.cursor, more: 1 }, "invalid_request"],
    [{ heard: "" }, "cursor_invalid"],
    [{ heard: "1-2-3" }, "cursor_invalid"],
    [{ heard: stream.cursor!.replace(/-\d+$/, "-99999") }, "events_lost"],
    [{ heard: "7-3" }, "cursor_invalid"],
  ] as const)
    expect([body, (await post(path, body)).json]).toMatchObject([body, { error: { code } }]);

  const answer = await interrupt(client, stream);
  expect(answer.text).toBe(heard);
  const events = await untilEnd(cluster, id);
  expect(textOf(events)).toBe(heard);
  const types = events.slice(events.findIndex(({ type }) => type === "output.rewind"));
  expect(types).toMatchObject([REWIND, { type: "generation.completed", finish_reason: "interrupted" }]);

  const again = [stream.cursor, answer.cursor, (await client.generations.get(id)).cursor];
  for (const cursor of again) expect((await post(path, { heard: cursor })).status).toBe(200);
  expect(await cluster.readLog("acme", id)).toHaveLength(events.length);
});

test("the playback of a complete answer can be interrupted, and its conversation continues with what was heard", async () => {
  const { cluster, client, post, apiKey } = await openPlatform();
  await using _ = cluster;
  const conversation = (await post("/v1/conversations", {})).json["id"] as string;
  const turn = { model: "sim", input: "Hi", conversation, options: { tokens: 30, tokens_per_second: 0 } };
  const stream = client.generations.run(turn);
  const cursors: string[] = [];
  for await (const event of stream) if (event.type === "output.delta") cursors.push(stream.cursor!);
  const id = stream.id!;
  const heard = client.generations.stream(id);
  await hear(heard, 1);
  // A node that keeps an ended log in memory follows it no longer.
  const elsewhere = createClient({ url: (await cluster.startDelivery()).url, apiKey });
  await elsewhere.generations.stream(id).done();
  await interrupt(client, { id, cursor: cursors[0] });
  const readLate = async () => {
    const late = elsewhere.generations.stream(id);
    await late.done();
    return late.text;
  };
  // It forgets the log after a minute.
  await expect.poll(readLate, { timeout: 40_000 }).toBe(heard.text);
  const events = await cluster.untilLog("acme", id, (log) => log.at(-1)!.type === "output.rewind");
  expect(events.at(-1)).toMatchObject(REWIND);
  const shown = await client.generations.get(id);
  expect([shown.text, shown.status, shown.finish_reason]).toEqual([heard.text, "completed", "stop"]);

  const next = client.generations.run({ ...turn, input: "And?" });
  expect((await next.done()).status).toBe("completed");
  const [requested] = await cluster.readLog("acme", next.id!);
  const { prompt } = JSON.parse(requested!) as { prompt: object };
  expect(JSON.stringify(prompt)).toContain(`${JSON.stringify(heard.text).slice(1, -1)}"`);
});

const say = (text: string) => [{ type: "input.delta", text }, { type: "input.commit" }];
const REPLIES = {
  model: "sim",
  input: { stream: { format: "text" as const } },
  options: { ...SLOW, answer: "reply" },
};

test("the next message is answered after an interrupt, also by another worker, and the interrupted one is not", async () => {
  const { cluster, client, post, worker } = await openPlatform({ ackWaitMs: 2_000 });
  await using _ = cluster;
  const stream = client.generations.run(REPLIES);
  const events = stream[Symbol.asyncIterator]();
  /** Hears a delta of the answer to this commit: one of an interrupted answer may still be on its way. */
  const hearItem = async (item: number) => {
    for (;;) {
      const { value } = await events.next();
      if (value?.type === "output.delta" && value.item === item) return;
    }
  };
  await events.next();
  const input = inputOf(client, stream.id!);
  const path = `/v1/generations/${stream.id}/input`;
  await Promise.all([input.text("one"), input.commit()]);
  for (let i = 0; i < 3; i++) await hearItem(2);
  const first = stream.text;
  const { cursor } = await interrupt(client, stream);
  // Nothing was said since.
  for (const again of [stream.cursor, cursor]) await interrupt(client, { id: stream.id, cursor: again });
  await Promise.all([input.text("two"), input.commit()]);
  await hearItem(4);
  const second = stream.text.slice(first.length);
  expect(stream.text.startsWith(first)).toBe(true);

  await worker.pause();
  await interrupt(client, stream);
  worker.kill("SIGKILL");
  expect((await post(path, { first: 5, entries: [...say("three"), { type: "input.end" }] })).status).toBe(
    200,
  );
  await cluster.startWorker();
  await hearItem(6);
  const third = stream.text.slice(first.length + second.length);
  await interrupt(client, stream);
  const log = await untilEnd(cluster, stream.id!);
  expect(textOf(log)).toBe(first + second + third);
  expect(log.filter(({ type }) => type === "generation.started")).toHaveLength(2);
  const interrupts = log.filter((event) => event.type === "output.rewind" && event.reason === "interrupted");
  expect(interrupts).toHaveLength(3);
  expect(log.at(-1)).toMatchObject({ type: "generation.completed", finish_reason: "stop" });
  const items = log.map((event) => (event.type === "output.delta" ? event.item : undefined));
  expect([...new Set(items)].filter((item) => item !== undefined)).toEqual([2, 4, 6]);
  await events.return?.();
});

test("captions that are revised under a gate are the same for readers who were there and who come later", async () => {
  const { cluster, client } = await openPlatform();
  await using _ = cluster;
  await cluster.startModeration();
  const format = "audio/pcm;rate=8000;channels=1" as const;
  const sound = Uint8Array.from({ length: 1_600 * 12 }, (_x, i) => (i * 31) & 0xff);
  const hearAll = async (options: Record<string, JsonValue>, policy?: GenerationRequest["policy"]) => {
    const stream = client.generations.run({ model: "sim", input: { stream: { format } }, options, policy });
    const texts: string[] = [];
    const reading = (async () => {
      for await (const { type } of stream) if (type === "output.delta") texts.push(stream.text);
    })();
    await expect.poll(() => stream.id).toBeDefined();
    const input = inputOf(client, stream.id!);
    for (let at = 0; at < sound.length; at += 800) await input.audio(sound.slice(at, at + 800));
    await input.end();
    await reading;
    return { id: stream.id!, text: stream.text, texts };
  };
  const plain = await hearAll({});
  const moderation: ModerationPolicy = { mode: "gate", rules: ["cards"], ...PATIENT };
  const revised = await hearAll({ revise: true }, { moderation });
  expect(revised.text).toBe(plain.text);
  // Guesses were shown.
  expect(revised.texts.some((text) => !plain.text.startsWith(text))).toBe(true);
  const late = await client.generations.stream(revised.id).done();
  const { text } = await client.generations.get(revised.id);
  expect([late.text, text]).toEqual([plain.text, plain.text]);
  const log = await cluster.untilLog("acme", revised.id, (events) => events.some(isEnd));
  expect(log.filter(({ type }) => type === "output.rewind")).toHaveLength(3);
  // Nothing was heard: moderation judges what an interrupt leaves after the end, too.
  expect((await interrupt(client, { id: revised.id })).text).toBe("");
  const last = await client.generations.stream(revised.id).done();
  expect([last.text, last.status]).toEqual(["", "completed"]);
});

test("a reader who pauses and continues after the end has the same text, of one run", async () => {
  const { cluster, client } = await openPlatform();
  await using _ = cluster;
  const request = { model: "sim", input: "Hi", options: { tokens: 60, tokens_per_second: 100 } };
  const stream = client.generations.run(request);
  await hear(stream, 3);
  const log = await untilEnd(cluster, stream.id!);
  const rest = client.generations.stream(stream.id!, { after: stream.cursor });
  expect(stream.text + (await rest.done()).text).toBe(textOf(log));
  expect(log.filter(({ type }) => type === "generation.started")).toHaveLength(1);
});
