import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as blobs from "@reprise/blobs";
import { readStreamMessages } from "@reprise/broker";
import {
  asStreamSeq,
  type BlobId,
  decodeOpsRecord,
  type KnownEvent,
  OPS_STREAM,
  opsSubject,
  OPTIONAL_EVENTS,
  parseTenantId,
  RepriseError,
} from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EngineEvent, MediaPieceEvent } from "../../engines/engine.ts";
import { createOpenaiEngine } from "../../engines/openai/openai-engine.ts";
import { createSimEngine } from "../../engines/sim/sim-engine.ts";
import { OutputMedia } from "../../media/output-media.ts";
import { attemptsIn } from "../../testing/drafts.ts";
import { createFakeEngine, untilAborted } from "../../testing/fake-engines.ts";
import { openWorld, transcriptOf, typesOf, type World } from "../../testing/world.ts";

const TENANT = parseTenantId("acme");
const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(300_000, 7)]);

type BlobEvent = Extract<KnownEvent, { type: "output.blob" }>;

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const image = (bytes: Uint8Array): MediaPieceEvent => ({
  type: "media",
  kind: "image",
  mediaType: "image/png",
  bytes,
  isLast: true,
});
const sound = (bytes: Uint8Array, isLast = false): MediaPieceEvent => ({
  type: "media",
  kind: "audio",
  mediaType: "audio/pcm",
  bytes,
  isLast,
});
const saying = (...said: EngineEvent[]) =>
  createFakeEngine(async function* () {
    yield* said;
    yield { type: "finish", reason: "stop" };
  });
const submit = (submission: Parameters<World["submit"]>[0] = {}) =>
  world.submit({ events: OPTIONAL_EVENTS, ...submission });
const madeIn = (events: readonly KnownEvent[]) =>
  events.filter((event): event is BlobEvent => event.type === "output.blob");
const uploads = () => Array.fromAsync(world.blobs.chunks.list(), ({ upload }) => upload);

async function find({ blob }: { blob?: string | undefined }) {
  return blobs.findBlob(world.blobs, TENANT, blob as BlobId);
}

async function contentOf(made: { blob?: string | undefined }) {
  const pieces = await Array.fromAsync(blobs.readBlob(world.blobs, await find(made)), (piece) =>
    Uint8Array.from(piece),
  );
  return Buffer.concat(pieces);
}

test("an image is a blob of the generation's person before the event that names it, and of that generation alone", async () => {
  const engine = saying({ type: "text", text: "Here: " }, image(PNG));
  const request = { subject: "ann", end_user: "user-1" };
  const ref = await submit({ request });
  await world.run(ref, engine);
  const events = await world.read(ref);
  expect(typesOf(events).slice(2)).toEqual(["output.delta", "output.blob", "generation.completed"]);
  const [made] = madeIn(events);
  expect(made).toMatchObject({ kind: "image", media_type: "image/png", bytes: PNG.length });
  expect(await contentOf(made!)).toEqual(PNG);
  const { row } = await find(made!);
  expect(row).toMatchObject({
    subject: "ann",
    end_user: "user-1",
    generation: ref.generation,
    ttl_seconds: 86_400,
  });
  expect(transcriptOf(events).blobs).toMatchObject([{ blob: made?.blob }]);
  const again = await submit({ request });
  await world.run(again, engine);
  expect(madeIn(await world.read(again))[0]?.blob).not.toBe(made?.blob);
});

test("auditors are told of each blob by its hash, under its generation, before an event names it", async () => {
  const ref = await submit();
  await world.run(ref, saying(image(PNG)));
  const [made] = madeIn(await world.read(ref));
  const { row } = await find(made!);
  const request = { afterStreamSeq: asStreamSeq(0), maxMessages: 100, maxBytes: 100_000 };
  const subject = opsSubject("blob", ref.tenant, ref.generation);
  const records = await readStreamMessages(world.broker.reads, OPS_STREAM, { ...request, subject });
  expect(records.map(({ payload }) => decodeOpsRecord(payload))).toMatchObject([
    {
      kind: "blob",
      call: "stored",
      by: "inference-worker",
      blob: row.id,
      sha256: row.sha256,
      bytes: PNG.length,
    },
  ]);
});

test("no event names a blob that is not there yet: what can't be stored ends the generation without one", async () => {
  const ref = await submit();
  const chunks = { ...world.blobs.chunks, append: () => Promise.reject(new Error("the store is away")) };
  await world.run(ref, saying(image(PNG)), { blobs: { ...world.blobs, chunks } });
  expect(typesOf(await world.read(ref)).slice(2)).toEqual(["generation.failed"]);
});

test("a broker that does not store what was made is asked again, in a further attempt", async () => {
  const ref = await submit();
  let failures = 0;
  const chunks: blobs.BlobStorage["chunks"] = {
    ...world.blobs.chunks,
    append: (...args) =>
      failures++ === 0
        ? Promise.reject(new RepriseError("broker_unavailable", "The broker does not answer."))
        : world.blobs.chunks.append(...args),
  };
  expect(await world.run(ref, saying(image(PNG)), { blobs: { ...world.blobs, chunks } })).toBe("completed");
  const events = await world.read(ref);
  expect(attemptsIn(events)).toEqual([
    [1, undefined],
    [2, "engine_failed"],
  ]);
  expect(await contentOf(madeIn(events)[0]!)).toEqual(PNG);
});

test("sound comes in pieces, and is one blob with the last of them", async () => {
  const ref = await submit();
  const pieces = Array.from({ length: 8 }, (_, i) => Buffer.alloc(100_000, i));
  const said = pieces.flatMap((piece, i): EngineEvent[] => [{ type: "text", text: `w${i} ` }, sound(piece)]);
  await world.run(ref, saying(...said, sound(Buffer.alloc(0), true), sound(Buffer.from("ab"), true)));
  const events = await world.read(ref);
  const [made, next] = madeIn(events);
  expect(made).toMatchObject({ kind: "audio", media_type: "audio/pcm", bytes: 800_000 });
  expect(await contentOf(made!)).toEqual(Buffer.concat(pieces));
  expect(await contentOf(next!)).toEqual(Buffer.from("ab"));
});

test("a worker's loss in mid-sound begins the turn again: one whole sound is told, and none of the half that was stored", async () => {
  await using other = await openWorld();
  const stuck = createFakeEngine(async function* (_request, { signal }) {
    yield { type: "text", text: "Half" };
    yield sound(Buffer.alloc(200_000, 1));
    yield { type: "text", text: "…" };
    await untilAborted(signal);
  });
  const lost = await other.startWorker(stuck, { slots: 1 });
  const ref = await other.submit({ events: OPTIONAL_EVENTS, options: { modalities: ["text", "audio"] } });
  await other.until(ref, (events) => events.length === 4);
  await using server = await openAudioServer();
  const whole = createOpenaiEngine({
    baseUrl: server.url,
    upstreamModel: "m",
    continuation: "assistant_prefill",
  });
  await lost.close();
  await other.startWorker(whole);
  const events = await other.untilEnded(ref);
  expect(typesOf(events)).toContain("output.rewind");
  expect(transcriptOf(events).text).toBe("Whole.");
  const { blobs: made } = transcriptOf(events);
  expect(made).toMatchObject([{ kind: "audio", bytes: 6 }]);
  // The half was given up by the worker that was told to stop.
  expect(await Array.fromAsync(other.blobs.chunks.list())).toHaveLength(1);
  await whole.close();
});

test("of a worker that dies an upload is left, which the sweep takes", async () => {
  await using other = await openWorld();
  const ref = await other.submit({ events: OPTIONAL_EVENTS });
  const owner = {
    subject: "ann",
    endUser: undefined,
    maxBytes: 1_000_000,
    quotaBytes: 1_000_000,
    ttlSeconds: 60,
  };
  const left = new OutputMedia({
    storage: other.blobs,
    publish: other.log.publish,
    ref,
    owner,
    onError: (error) => expect.fail(String(error)),
  });
  await left.take(sound(PNG));
  expect(await Array.fromAsync(other.blobs.chunks.list())).toHaveLength(1);
  expect(await other.blobs.accounts.bytesOf(TENANT)).toBe(1_000_000);
  const hourMs = 3_600_000;
  expect(await blobs.sweepBlobs(other.blobs, { nowMs: Date.now() + hourMs })).toMatchObject({ uploads: 0 });
  expect(await blobs.sweepBlobs(other.blobs, { nowMs: Date.now() + 3 * hourMs })).toMatchObject({
    uploads: 1,
  });
  expect(await Array.fromAsync(other.blobs.chunks.list())).toEqual([]);
  expect(await other.blobs.accounts.bytesOf(TENANT)).toBe(0);
});

test.each([
  ["is larger than a blob may be", { max_bytes: 1_000 }, [image(PNG)]],
  ["grows larger than a blob may be", { max_bytes: 100_000 }, [sound(PNG), sound(PNG)]],
  ["has no room left", { quota_bytes: 1_000 }, [image(PNG)]],
] as const)("what %s fails the generation, and leaves nothing", async (_, limits, said) => {
  const before = await uploads();
  const ref = await submit({ blobs: limits });
  await world.run(ref, saying(...said));
  const events = await world.read(ref);
  expect(typesOf(events).slice(2)).toEqual(["generation.failed"]);
  expect(events.at(-1)).toMatchObject({ error: { code: "limit_exceeded" } });
  expect(await uploads()).toEqual(before);
});

test("content of another kind, and none, is the engine's failure, and no blob", async () => {
  const before = await uploads();
  for (const bytes of [Buffer.from("%PDF-1.7"), Buffer.from("words"), Buffer.alloc(0)]) {
    const ref = await submit();
    await world.run(ref, saying(image(bytes)));
    const events = await world.read(ref);
    expect(events.at(-1)).toMatchObject({ error: { code: "engine_failed" } });
  }
  expect(await uploads()).toEqual(before);
});

test("a creator that does not know the event is told nothing, and nothing is stored", async () => {
  const before = await uploads();
  const leftOut: unknown[] = [];
  const ref = await submit({ events: [] });
  await world.run(ref, saying({ type: "text", text: "a" }, image(PNG)), {
    onEngineReport: (report) => leftOut.push(report),
  });
  expect(typesOf(await world.read(ref)).slice(2)).toEqual(["output.delta", "generation.completed"]);
  expect(leftOut).toMatchObject([{ leftOut: "image" }]);
  expect(await uploads()).toEqual(before);
});

test("the simulator makes what its options say", async () => {
  const ref = await submit({
    options: {
      says: [{ type: "blob", kind: "image", media_type: "image/png", data: PNG.toString("base64") }],
      text: "Here.",
    },
  });
  await world.run(ref, createSimEngine());
  const [made] = madeIn(await world.read(ref));
  expect(await contentOf(made!)).toEqual(PNG);
});

/** A model server that speaks one sound in two pieces. */
async function openAudioServer() {
  const chunk = (delta: object, end: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ audio: { data: "AQID", transcript: "Whole" } }));
    response.end(
      `${chunk({ audio: { data: "BAUG", transcript: "." } })}${chunk({}, "stop")}data: [DONE]\n\n`,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
