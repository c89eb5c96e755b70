import { createHash } from "node:crypto";
import { OPTIONAL_EVENTS, type RequestMedia } from "@reprise/protocol";
import { base64HashOf, startMediaModel, watchMemory } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { answer, startFilesServer } from "../engines/testing/files-server.ts";
import { createFakeEngine } from "../testing/fake-engine.ts";
import { storeBlob } from "../testing/stored-blob.ts";
import { openWorld, type World } from "../testing/world.ts";

/* The model server is in this process too, so what is measured is more than the worker's part. The broker is a process of its own. */

const MIB = 1_024 * 1_024;
const BYTES = 30 * MIB;
const MOST = 4 * MIB;
const BLANK = "\r\n\r\n";
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

test("a blob of 30 MiB is uploaded to an engine with less than 4 MiB of memory", async () => {
  await upload(await store(4 * MIB));
  const named = await store(BYTES);
  const memory = watchMemory();
  expect(await upload(named, memory.sample)).toBe(named.sha256);
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
  await ask(named, model.baseUrl);
  return model.received();
}

/** @returns the SHA-256 of the file as the server has it */
async function upload(named: RequestMedia, sample = () => {}): Promise<string> {
  await using server = await startFilesServer();
  const sum = createHash("sha256");
  server.nextUploads((request, response) => {
    let head: string | undefined = "";
    let left = named.bytes;
    let count = 0;
    request.on("data", (piece: Buffer) => {
      if (count++ % 16 === 0) sample();
      let rest = piece;
      if (head !== undefined) {
        head += piece.toString("latin1");
        const at = head.indexOf(BLANK, head.indexOf("filename="));
        if (at === -1) return;
        rest = Buffer.from(head.slice(at + BLANK.length), "latin1");
        head = undefined;
      }
      sum.update(rest.subarray(0, left));
      left -= Math.min(left, rest.length);
    });
    request.on("end", () => response.end('{"id":"file-1"}'));
  });
  server.nextCompletions(answer);
  await ask(named, server.baseUrl, "upload");
  return sum.digest("hex");
}

async function ask(named: RequestMedia, baseUrl: string, media?: "upload"): Promise<void> {
  const engine = createOpenaiEngine({
    baseUrl,
    upstreamModel: "m",
    media,
    capabilities: new Set(["content_parts", "files", "media_references"]),
  });
  const ref = await world.submit({
    media: { [named.blob]: named },
    needs: ["content_parts", "files", "media_references"],
    request: { input: [{ role: "user", content: [{ type: "file", blob: named.blob }] }] },
  });
  expect(await world.run(ref, engine)).toBe("completed");
  await engine.close();
}
