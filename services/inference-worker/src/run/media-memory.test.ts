import { OPTIONAL_EVENTS, type RequestMedia } from "@reprise/protocol";
import { base64HashOf, startMediaModel, watchMemory } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { createFakeEngine } from "../testing/fake-engine.ts";
import { storeBlob } from "../testing/stored-blob.ts";
import { openWorld, type World } from "../testing/world.ts";

/* The model server is in this process too, so what is measured is more than the worker's part. The broker is a process of its own. */

const MIB = 1_024 * 1_024;
const BYTES = 30 * MIB;
const MOST = 4 * MIB;
const PIECE = Buffer.alloc(64 * 1_024, "the same sixty-four kilobytes, again and again; ");

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test("a blob of 30 MiB goes into an engine's request with less than 4 MiB of memory", async () => {
  // What the first of its kind loads and compiles.
  await send(await store(4 * MIB));
  const named = await store(BYTES);
  const memory = watchMemory();
  const { bytes, sha256 } = await send(named, memory.sample);
  expect(bytes).toBeGreaterThan((BYTES / 3) * 4);
  expect(sha256).toBe(base64HashOf(PIECE, named.bytes));
  expect(memory.most()).toBeLessThan(MOST);
});

test("sound of 30 MiB that an engine makes is stored with less than 4 MiB of memory", async () => {
  await make(4 * MIB);
  const memory = watchMemory();
  expect(await make(BYTES, memory.sample)).toContainEqual(
    expect.objectContaining({ type: "output.blob", bytes: BYTES }),
  );
  expect(memory.most()).toBeLessThan(MOST);
});

async function make(bytes: number, sample = () => {}) {
  const piece = { type: "media", kind: "audio", mediaType: "audio/pcm", isLast: false } as const;
  const engine = createFakeEngine(async function* () {
    for (let sent = 0; sent < bytes; sent += PIECE.length) {
      yield { ...piece, bytes: Buffer.from(PIECE) };
      if (sent % MIB === 0) sample();
    }
    yield { ...piece, bytes: Buffer.alloc(0), isLast: true };
    yield { type: "finish", reason: "stop" };
  });
  const ref = await world.submit({ events: OPTIONAL_EVENTS });
  await world.run(ref, engine);
  return world.read(ref);
}

function store(bytes: number): Promise<RequestMedia> {
  const pieces = async function* () {
    for (let sent = 0; sent < bytes; sent += PIECE.length) yield PIECE;
  };
  return storeBlob(world.blobs, pieces(), "text/plain");
}

async function send(named: RequestMedia, sample = () => {}) {
  await using model = await startMediaModel(sample);
  const engine = createOpenaiEngine({
    baseUrl: model.baseUrl,
    upstreamModel: "m",
    capabilities: new Set(["content_parts", "files", "media_references"]),
  });
  const ref = await world.submit({
    media: { [named.blob]: named },
    needs: ["content_parts", "files", "media_references"],
    request: { input: [{ role: "user", content: [{ type: "file", blob: named.blob }] }] },
  });
  expect(await world.run(ref, engine)).toBe("completed");
  await engine.close();
  return model.received();
}
