import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OPTIONAL_EVENTS, type RequestMedia } from "@reprise/protocol";
import { watchMemory } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { content, DONE, finish, ROLE } from "../engines/testing/chat-frames.ts";
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
  expect(sha256).toBe(expectedHash(named));
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

/** Of the body that a direct call would have had, up to the base64's end. */
function expectedHash({ bytes }: RequestMedia): string {
  const sum = createHash("sha256");
  // Three of them have no rest in base64.
  const three = Buffer.concat([PIECE, PIECE, PIECE]).toString("base64");
  for (let sent = 0; sent < bytes; sent += 3 * PIECE.length) {
    const left = Math.min(3 * PIECE.length, bytes - sent);
    sum.update(left === 3 * PIECE.length ? three : Buffer.alloc(left, PIECE).toString("base64"));
  }
  return sum.digest("hex");
}

async function send(named: RequestMedia, sample = () => {}) {
  const base64Bytes = 4 * Math.ceil(named.bytes / 3);
  const sum = createHash("sha256");
  const head = "data:text/plain;base64,";
  let bytes = 0;
  let hashed = 0;
  let begin: string | undefined = "";
  let count = 0;
  const server = createServer((request, response) => {
    request.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (count++ % 16 === 0) sample();
      let rest = piece;
      if (begin !== undefined) {
        begin += piece.toString("latin1");
        const at = begin.indexOf(head);
        if (at === -1) return;
        rest = Buffer.from(begin.slice(at + head.length), "latin1");
        begin = undefined;
      }
      const taken = rest.subarray(0, base64Bytes - hashed);
      hashed += taken.length;
      sum.update(taken);
    });
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end([ROLE, content("Read."), finish(), DONE].join(""));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const engine = createOpenaiEngine({
    baseUrl,
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
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { bytes, sha256: sum.digest("hex") };
}
