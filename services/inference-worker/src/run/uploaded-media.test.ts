import { blobs } from "@reprise/log";
import { type MediaMap, parseTenantId, RepriseError } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../engines/openai/openai-engine.ts";
import { cutAfter, type FilesServer, refuse, startFilesServer } from "../engines/testing/files-server.ts";
import { piecesOf, storeBlob } from "../testing/stored-blob.ts";
import { openWorld, textOf, typesOf, type World } from "../testing/world.ts";

const TEXT = Buffer.alloc(400_001, "a file's words; ");

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Model servers with files, and an engine that uploads to them. */
async function openEngine(count = 1, options: Partial<OpenaiEngineOptions> = {}) {
  await using stack = new AsyncDisposableStack();
  const servers: FilesServer[] = [];
  for (let i = 0; i < count; i++) servers.push(stack.use(await startFilesServer(`file${i}`)));
  const [baseUrl, ...moreBaseUrls] = servers.map((server) => server.baseUrl);
  const engine = createOpenaiEngine({
    baseUrl: baseUrl!,
    moreBaseUrls,
    upstreamModel: "m",
    media: "upload",
    capabilities: new Set(["content_parts", "files", "media_references"]),
    ...options,
  });
  stack.defer(() => engine.close());
  const owned = stack.move();
  return { engine, servers, server: servers[0]!, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function submit() {
  const named = await storeBlob(world.blobs, piecesOf(TEXT), "text/plain");
  const media: MediaMap = { [named.blob]: named };
  const ref = await world.submit({
    media,
    needs: ["content_parts", "files", "media_references"],
    request: { input: [{ role: "user", content: [{ type: "file", blob: named.blob, name: "a.txt" }] }] },
  });
  return { ref, named };
}

const contentsOf = ({ uploads }: FilesServer) => uploads.map(({ content }) => content.equals(TEXT));

test("an engine is given a blob as a file of its own, once for all generations, until the worker's engine is closed", async () => {
  await using upstream = await openEngine();
  for (const { ref } of [await submit(), await submit()]) {
    expect(await world.run(ref, upstream.engine)).toBe("completed");
    expect(textOf(await world.read(ref))).toBe("Read.");
  }
  expect(contentsOf(upstream.server)).toEqual([true]);
  expect(upstream.server.files.size).toBe(1);
  await upstream.engine.close();
  expect(upstream.server.files.size).toBe(0);
});

test("an upload that is cut in the middle is followed by another attempt, which begins it anew", async () => {
  await using upstream = await openEngine();
  upstream.server.nextUploads(cutAfter(100_000));
  const { ref } = await submit();
  expect(await world.run(ref, upstream.engine)).toBe("completed");
  expect(typesOf(await world.read(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "attempt.ended",
    "generation.started",
    "output.delta",
    "generation.completed",
  ]);
  expect(contentsOf(upstream.server)).toEqual([true]);
});

test("a further attempt at another server uploads to that one, and names its id", async () => {
  await using upstream = await openEngine(2, { hasAffinity: false });
  const [one, two] = upstream.servers as [FilesServer, FilesServer];
  // Whichever is first, and then the other.
  for (const server of [one, two]) server.nextCompletions(refuse(500));
  const { ref } = await submit();
  expect(await world.run(ref, upstream.engine)).toBe("completed");
  const events = await world.read(ref);
  expect(typesOf(events).filter((type) => type === "generation.started")).toHaveLength(3);
  expect([contentsOf(one), contentsOf(two)]).toEqual([[true], [true]]);
});

test.each([400, 413])(
  "an upload that is refused (%i) ends the generation, and the engine is not asked",
  async (status) => {
    await using upstream = await openEngine();
    upstream.server.nextUploads(refuse(status));
    const { ref } = await submit();
    expect(await world.run(ref, upstream.engine)).toBe("failed");
    expect((await world.read(ref)).at(-1)).toMatchObject({
      type: "generation.failed",
      error: {
        code: "engine_rejected",
        message: `The engine answered ${status} to the upload of a file.`,
        retryable: false,
      },
    });
    expect(upstream.server.asked).toEqual([]);
  },
);

test("a broker that breaks off in the middle of an upload ends neither the attempt nor the generation", async () => {
  await using upstream = await openEngine();
  let isAway = true;
  const storage: blobs.BlobStorage = {
    ...world.blobs,
    chunks: {
      ...world.blobs.chunks,
      async *read(upload) {
        for await (const chunk of world.blobs.chunks.read(upload)) {
          yield chunk;
          if (!isAway) continue;
          isAway = false;
          throw new RepriseError("broker_unavailable", "The broker does not answer.");
        }
      },
    },
  };
  const { ref } = await submit();
  expect(await world.run(ref, upstream.engine, { blobs: storage })).toBe("completed");
  expect(typesOf(await world.read(ref))).not.toContain("attempt.ended");
  expect(contentsOf(upstream.server)).toEqual([true]);
});

test("a blob that is deleted is named to no engine that has it still", async () => {
  await using upstream = await openEngine();
  const { ref } = await submit();
  await world.run(ref, upstream.engine);
  const later = await submit();
  await blobs.removeBlob(world.blobs, parseTenantId("acme"), later.named.blob);
  expect(await world.run(later.ref, upstream.engine)).toBe("failed");
  expect((await world.read(later.ref)).at(-1)).toMatchObject({ error: { code: "blob_not_found" } });
  expect(upstream.server.asked).toHaveLength(1);
});
