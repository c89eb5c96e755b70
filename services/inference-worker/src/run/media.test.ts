import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import * as blobs from "@reprise/blobs";
import { type MediaMap, parseTenantId, RepriseError } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../engines/openai/openai-engine.ts";
import { content, DONE, finish, ROLE } from "../engines/testing/chat-frames.ts";
import { started } from "../testing/drafts.ts";
import { piecesOf, storeBlob } from "../testing/stored-blob.ts";
import { openWorld, textOf, typesOf, type World } from "../testing/world.ts";

const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(400_001, 7)]);

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** A model server that does with its n-th request what the n-th of these says, and an engine in front of it. */
async function openEngine(...serves: Serve[]) {
  return openEngineWith({}, ...serves);
}

async function openEngineWith(options: Partial<OpenaiEngineOptions>, ...serves: Serve[]) {
  const left = [...serves];
  const server = createServer((request, response) => left.shift()!(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const engine = createOpenaiEngine({ baseUrl, upstreamModel: "m", ...options });
  return {
    engine,
    left,
    async [Symbol.asyncDispose]() {
      await engine.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Takes the body, and answers. */
function answers(bodies: Buffer[]): Serve {
  return (request, response) => {
    void buffer(request).then((body) => {
      expect(Number(request.headers["content-length"])).toBe(body.length);
      bodies.push(body);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end([ROLE, content("A cat."), finish(), DONE].join(""));
    });
  };
}

/** Takes some of the body, and breaks the connection. */
function cuts(bytes: number): Serve {
  return (request) => {
    let taken = 0;
    request.on("error", () => undefined);
    request.on("data", (piece: Buffer) => {
      taken += piece.length;
      if (taken > bytes) request.socket.resetAndDestroy();
    });
  };
}

async function submit() {
  const named = await storeBlob(world.blobs, piecesOf(PNG), "image/png");
  const media: MediaMap = { [named.blob]: named };
  const ref = await world.submit({
    media,
    needs: ["content_parts", "images", "media_references"],
    request: {
      input: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image", blob: named.blob },
          ],
        },
      ],
    },
  });
  return { ref, named };
}

const DATA_URL = `data:image/png;base64,${PNG.toString("base64")}`;
const able = (engine: ReturnType<typeof createOpenaiEngine>) => ({
  ...engine,
  capabilities: new Set([...engine.capabilities!, "images" as const]),
});

test("an engine gets a blob's bytes, as if they had been in the request", async () => {
  const bodies: Buffer[] = [];
  await using upstream = await openEngine(answers(bodies));
  const { ref } = await submit();
  expect(await world.run(ref, able(upstream.engine))).toBe("completed");
  expect(textOf(await world.read(ref))).toBe("A cat.");
  expect(JSON.parse(bodies[0]!.toString())).toMatchObject({
    messages: [
      {
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: DATA_URL } },
        ],
      },
    ],
  });
});

test("an image that a tool answers with is in the engine's next turn, with the calls and answers around it", async () => {
  const bodies: Buffer[] = [];
  await using upstream = await openEngine(answers(bodies));
  const named = await storeBlob(world.blobs, piecesOf(PNG), "image/png");
  const call = { type: "tool.call", call_id: "a", name: "look", arguments: "{}" } as const;
  const parts = [{ type: "text", text: "Here:" } as const, { type: "image", blob: named.blob } as const];
  const ref = await world.submit({
    history: [started(1), call, { type: "tool.result", call_id: "a", content: parts }],
  });
  expect(await world.run(ref, able(upstream.engine))).toBe("completed");
  const { messages } = JSON.parse(bodies[0]!.toString()) as { messages: object[] };
  expect(messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    {
      role: "tool",
      tool_call_id: "a",
      content: [
        { type: "text", text: "Here:" },
        { type: "image_url", image_url: { url: DATA_URL } },
      ],
    },
  ]);
});

test("a blob of a tool's answer that is deleted before the next turn ends the generation", async () => {
  await using upstream = await openEngine();
  const call = { type: "tool.call", call_id: "a", name: "look", arguments: "{}" } as const;
  const parts = [{ type: "image" as const, blob: `blob_${"1".repeat(26)}` }];
  const ref = await world.submit({
    history: [started(1), call, { type: "tool.result", call_id: "a", content: parts }],
  });
  expect(await world.run(ref, able(upstream.engine))).toBe("failed");
  expect((await world.read(ref)).at(-1)).toMatchObject({ error: { code: "blob_not_found" } });
});

test("a connection that is cut within the body is followed by another attempt, which sends it from its beginning", async () => {
  const bodies: Buffer[] = [];
  await using upstream = await openEngine(cuts(100_000), answers(bodies));
  const { ref } = await submit();
  expect(await world.run(ref, able(upstream.engine))).toBe("completed");
  expect(typesOf(await world.read(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "attempt.ended",
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
  expect(bodies).toHaveLength(1);
  expect(bodies[0]!.includes(DATA_URL)).toBe(true);
});

test("a kept connection that breaks within the body is replaced, and the body is read from its blob again", async () => {
  const bodies: Buffer[] = [];
  await using upstream = await openEngine(answers(bodies), cuts(100_000), answers(bodies));
  const engine = able(upstream.engine);
  const first = await submit();
  await world.run(first.ref, engine);
  const { ref } = await submit();
  expect(await world.run(ref, engine)).toBe("completed");
  expect(bodies.map((body) => body.includes(DATA_URL))).toEqual([true, true]);
  expect(typesOf(await world.read(ref))).not.toContain("attempt.ended");
});

test("a blob that is deleted between the create and the attempt ends the generation, and the engine is not asked", async () => {
  const bodies: Buffer[] = [];
  await using upstream = await openEngine(answers(bodies));
  const { ref, named } = await submit();
  await blobs.removeBlob(world.blobs, parseTenantId("acme"), named.blob);
  expect(await world.run(ref, able(upstream.engine))).toBe("failed");
  expect((await world.read(ref)).at(-1)).toMatchObject({
    type: "generation.failed",
    error: { code: "blob_not_found", retryable: false },
  });
  expect(upstream.left).toHaveLength(1);
});

test("a blob that is deleted while it is sent ends the generation with that, and not with a broken engine", async () => {
  const { ref, named } = await submit();
  const removed = Promise.withResolvers<void>();
  await using upstream = await openEngine((request) => {
    request.on("error", () => undefined).resume();
    removed.resolve();
  });
  // The chunks go while the first of them is sent.
  const storage: blobs.BlobStorage = {
    ...world.blobs,
    chunks: {
      ...world.blobs.chunks,
      async *read(upload) {
        for await (const chunk of world.blobs.chunks.read(upload)) {
          yield chunk;
          await removed.promise;
          return;
        }
      },
    },
  };
  expect(await world.run(ref, able(upstream.engine), { blobs: storage })).toBe("failed");
  expect((await world.read(ref)).at(-1)).toMatchObject({ error: { code: "blob_not_found" } });
  await blobs.removeBlob(world.blobs, parseTenantId("acme"), named.blob);
});

/** The world's blobs, at a broker that fails the given number of first reads of rows and of chunks. */
function failing({ rows, chunks }: { rows: number; chunks: number }): blobs.BlobStorage {
  const away = () => new RepriseError("broker_unavailable", "The broker does not answer.");
  const left = { rows, chunks };
  const readRow = world.blobs.rows.read.bind(world.blobs.rows);
  return {
    ...world.blobs,
    rows: Object.assign(Object.create(world.blobs.rows) as blobs.BlobStorage["rows"], {
      read: (subject: string) => (left.rows-- > 0 ? Promise.reject(away()) : readRow(subject)),
    }),
    chunks: {
      ...world.blobs.chunks,
      async *read(upload) {
        for await (const chunk of world.blobs.chunks.read(upload)) {
          yield chunk;
          if (left.chunks-- > 0) throw away();
        }
      },
    },
  };
}

test("a broker that breaks off while a blob is looked up, or sent, ends neither the attempt nor the generation", async () => {
  const bodies: Buffer[] = [];
  const takes: Serve = (request) => void request.on("error", () => undefined).resume();
  await using upstream = await openEngine(takes, answers(bodies));
  const { ref } = await submit();
  const storage = failing({ rows: 1, chunks: 1 });
  expect(await world.run(ref, able(upstream.engine), { blobs: storage })).toBe("completed");
  expect(bodies.map((body) => body.includes(DATA_URL))).toEqual([true]);
  expect(typesOf(await world.read(ref))).not.toContain("attempt.ended");
});

test("a model server that fetches images itself gets an address that the tenant's key has signed", async () => {
  const bodies: Buffer[] = [];
  await using upstream = await openEngineWith({ media: "url" }, answers(bodies));
  const { ref, named } = await submit();
  expect(await world.run(ref, able(upstream.engine), { mediaUrl: "http://delivery:8080/" })).toBe(
    "completed",
  );
  const { messages } = JSON.parse(bodies[0]!.toString()) as {
    messages: [{ content: [unknown, { image_url: { url: string } }] }];
  };
  const { origin, pathname, searchParams } = new URL(messages[0].content[1].image_url.url);
  expect([origin, pathname]).toEqual(["http://delivery:8080", `/v1/media/acme/${named.blob}`]);
  const link = { tenant: parseTenantId("acme"), blob: named.blob };
  const signed = {
    ...link,
    expires: searchParams.get("expires")!,
    signature: searchParams.get("signature")!,
  };
  expect(await blobs.isLinkGood(world.blobs, signed)).toBe(true);
});
