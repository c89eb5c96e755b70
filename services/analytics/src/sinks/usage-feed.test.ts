import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  asSeq,
  createGenerationId,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  parseTenantId,
} from "@reprise/protocol";
import { createRef, createTempDir } from "@reprise/testkit";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { generationRowOf } from "../testing/generation-row.ts";
import { type LaneWorld, openLaneWorld } from "../testing/lane-world.ts";
import { createFileSink } from "./file-sink.ts";
import { parseWebhookSecret, createWebhookSink } from "./webhook-sink.ts";
import { feedUsage } from "./usage-feed.ts";
import type { UsageBatch, UsageSink } from "./usage-sink.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const PRICE = { currency: "USD", input: "1", output: "2" };
const noError = (error: unknown) => expect.unreachable(String(error));

/** Writes generations that have ended, with these numbers of tokens. */
async function writeLogs(world: LaneWorld, tokens: readonly number[]): Promise<GenerationRef[]> {
  const refs: GenerationRef[] = [];
  for (const output of tokens) {
    const ref = { tenant: parseTenantId("acme"), generation: createGenerationId(randomBytes(17), 1) };
    const request = { model: "sim", input: "Go." };
    const created_at = "2026-11-23T12:00:00.000Z";
    const drafts = [
      { type: "generation.requested", ...ref, created_at, request, policy: {} },
      { type: "generation.started", attempt: 1, worker: "worker-1", model: "sim" },
      { type: "output.delta", text: "words", tokens: output },
      {
        type: "generation.completed",
        finish_reason: "stop",
        usage: { input_tokens: 3, output_tokens: output },
      },
    ] as EventDraft[];
    for (const [seq, draft] of drafts.entries()) await world.append(ref, encodeEvent(asSeq(seq), draft));
    refs.push(ref);
  }
  return refs;
}

/** Delivers to a sink until it is stopped. */
function start({ facts }: LaneWorld, sink: UsageSink, onError: (error: unknown) => void = noError) {
  const stop = new AbortController();
  const usageOf = () => ({ source: "/test", price: PRICE });
  const options = {
    outbox: facts.outbox(sink.name, "GENERATIONS_0"),
    sink,
    usageOf,
    onDelivered: () => {},
    onError,
    idleMs: 10,
  };
  const done = feedUsage(options, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}

/** A receiver that answers as it is told, and keeps what it has taken. */
async function startReceiver() {
  const received: { headers: IncomingHttpHeaders; body: string; status: number }[] = [];
  const statuses: number[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    const status = statuses.shift() ?? 204;
    received.push({ headers: request.headers, body, status });
    response.writeHead(status, { location: "/elsewhere" }).end();
  };
  const server = createServer((request, response) => void take(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/usage`,
    received,
    statuses,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("each generation's usage is delivered, with its exact cost, and after a restart only what is new", async () => {
  await using world = await openLaneWorld();
  await using lane = world.start();
  const batches: UsageBatch[] = [];
  const sink: UsageSink = { name: "test", deliver: async (batch) => void batches.push(batch) };
  const events = () => batches.flatMap((batch) => batch.events);
  const first = await writeLogs(world, [5, 7]);
  {
    await using _ = start(world, sink);
    await expect.poll(() => events().length).toBe(2);
  }
  const second = await writeLogs(world, [9]);
  await using _ = start(world, sink);
  await expect.poll(() => events().length).toBe(3);
  expect(events().map(({ id }) => id)).toEqual([...first, ...second].map(({ generation }) => generation));
  expect(events().map(({ data }) => data.cost)).toEqual(["0.000013", "0.000017", "0.000021"]);
  expect(events()[0]).toMatchObject({ specversion: "1.0", source: "/test", subject: "acme" });
  expect(lane.errors).toEqual([]);
});

test("a webhook is signed as Standard Webhooks wants it, and a batch that fails comes again, the same", async () => {
  await using world = await openLaneWorld();
  await using receiver = await startReceiver();
  await using lane = world.start();
  receiver.statuses.push(500, 302, 410);
  const errors: unknown[] = [];
  const sink = createWebhookSink({ url: receiver.url, key: parseWebhookSecret(SECRET) });
  await using _ = start(world, sink, (error) => errors.push(error));
  const [ref] = await writeLogs(world, [5]);
  await expect.poll(() => receiver.received.length).toBe(4);
  expect(errors.map(String)).toEqual(
    [500, 302, 410].map((status) => `Error: The receiver answered ${status}.`),
  );
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const verifier = new Webhook(SECRET);
  for (const { body, headers } of receiver.received) {
    expect(headers["content-type"]).toBe("application/cloudevents-batch+json");
    const verified = verifier.verify(body, headers as Record<string, string>);
    expect(verified).toMatchObject([{ id: ref?.generation, data: { output_tokens: 5 } }]);
    expect(() => verifier.verify(`${body} `, headers as Record<string, string>)).toThrow();
  }
  expect(lane.errors).toEqual([]);
});

test("usage in files is a line for each generation", async () => {
  await using world = await openLaneWorld();
  await using dir = await createTempDir("usage");
  await using lane = world.start();
  await using _ = start(world, createFileSink(dir.path));
  const refs = await writeLogs(world, [1, 2, 3]);
  const read = async () => {
    const names = (await readdir(dir.path)).toSorted();
    const text = (await Promise.all(names.map((name) => readFile(join(dir.path, name), "utf8")))).join("");
    return text.split("\n").flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { id: string }).id]));
  };
  await expect.poll(read).toEqual(refs.map(({ generation }) => generation));
  expect(lane.errors).toEqual([]);
});

test.each(["secret", "whsec_c2hvcnQ=", SECRET.slice("whsec_".length)])(
  "%j is no webhook secret, and the error does not repeat it",
  (secret) => {
    const parse = () => parseWebhookSecret(secret);
    expect(parse).toThrow(/must be whsec_ and 24 to 64 bytes/);
  },
);

test("a batch that fails is tried again, and none before it", async () => {
  const rows = Array.from({ length: 250 }, () => generationRowOf(createRef()));
  const stop = new AbortController();
  const delivered: { id: string; count: number; first: string | undefined }[] = [];
  let [tries, place] = [0, 0];
  const sink: UsageSink = {
    name: "flaky",
    async deliver({ id, events }) {
      if (++tries % 2 === 0) throw new Error("Not now.");
      delivered.push({ id, count: events.length, first: events[0]?.id });
    },
  };
  const outbox = {
    place: async () => place,
    rowsOf: async (n: number) => (n === 0 ? rows : undefined),
    async advance(next: number) {
      place = next;
      stop.abort();
    },
  };
  const usageOf = () => ({ source: "/test" });
  const options = {
    outbox,
    sink,
    usageOf,
    onDelivered: () => {},
    onError: () => {},
  };
  await feedUsage(options, stop.signal);
  expect(delivered.map(({ count }) => count)).toEqual([100, 100, 50]);
  expect(delivered.map(({ first }) => first)).toEqual([0, 100, 200].map((i) => rows[i]?.generation));
  expect(new Set(delivered.map(({ id }) => id)).size).toBe(3);
});
