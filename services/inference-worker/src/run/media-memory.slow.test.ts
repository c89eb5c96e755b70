import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type * as blobs from "@reprise/blobs";
import { OPTIONAL_EVENTS, type RequestMedia } from "@reprise/protocol";
import { base64HashOf, startMediaModel } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { storeBlob } from "../testing/stored-blob.ts";
import { openWorld, type World } from "../testing/world.ts";

/* What is on its way, and what is still referenced of it, not how large the process is: that says little. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const MIB = 1_024 * 1_024;
const BYTES = 30 * MIB;
const MOST = 4 * MIB;
const PIECE = Buffer.alloc(64 * 1_024, "the same sixty-four kilobytes, again and again; ");

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** A content on its way through the worker: what was taken, and has not arrived. */
class Passage {
  /** The most bytes that were on their way. */
  most = 0;
  /** The bytes in memory of all that was taken, when half of it had arrived. */
  held = 0;
  #underWay = 0;
  #arrived = 0;
  readonly #bytes: number;
  readonly #taken: { readonly bytes: number; readonly ref: WeakRef<object> }[] = [];

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  take(piece: Uint8Array): void {
    this.#taken.push({ bytes: piece.length, ref: new WeakRef(piece.buffer) });
    this.#underWay += piece.length;
    this.most = Math.max(this.most, this.#underWay);
  }

  arrive(bytes: number): void {
    const half = this.#bytes / 2;
    const isHalf = this.#arrived < half && this.#arrived + bytes >= half;
    this.#underWay -= bytes;
    this.#arrived += bytes;
    if (!isHalf) return;
    collectGarbage();
    for (const { bytes: taken, ref } of this.#taken) if (ref.deref() !== undefined) this.held += taken;
  }

  /** A storage whose content is taken when it is read, or arrives when it is stored. */
  watch(storage: blobs.BlobStorage): blobs.BlobStorage {
    const { chunks } = storage;
    const read = async function* (this: Passage, ref: Parameters<typeof chunks.read>[0]) {
      for await (const piece of chunks.read(ref)) {
        this.take(piece);
        yield piece;
      }
    }.bind(this);
    const append: typeof chunks.append = async (ref, place, bytes) => {
      const next = await chunks.append(ref, place, bytes);
      this.arrive(bytes.length);
      return next;
    };
    return { ...storage, chunks: { ...chunks, read, append } };
  }
}

test("a blob of 30 MiB goes into an engine's request with less than 4 MiB of memory", async () => {
  const named = await store();
  const passage = new Passage(BYTES);
  // In base64.
  await using model = await startMediaModel((bytes) => passage.arrive((bytes / 4) * 3));
  await ask(named, model.baseUrl, { blobs: passage.watch(world.blobs) });
  const { bytes, sha256 } = model.received();
  expect(bytes).toBeGreaterThan((BYTES / 3) * 4);
  expect(sha256).toBe(base64HashOf(PIECE, named.bytes));
  expect(passage.most).toBeLessThan(MOST);
  expect(passage.held).toBeLessThan(MOST);
});

test("sound of 30 MiB that an engine makes is stored with less than 4 MiB of memory", async () => {
  const passage = new Passage(BYTES);
  const piece = { type: "media", kind: "audio", mediaType: "audio/pcm", isLast: false } as const;
  const engine = createFakeEngine(async function* () {
    for (let sent = 0; sent < BYTES; sent += PIECE.length) {
      const bytes = Buffer.from(PIECE);
      passage.take(bytes);
      yield { ...piece, bytes };
    }
    yield { ...piece, bytes: Buffer.alloc(0), isLast: true };
    yield { type: "finish", reason: "stop" };
  });
  const ref = await world.submit({ events: OPTIONAL_EVENTS });
  await world.run(ref, engine, { blobs: passage.watch(world.blobs) });
  expect(await world.read(ref)).toContainEqual(
    expect.objectContaining({ type: "output.blob", bytes: BYTES }),
  );
  expect(passage.most).toBeLessThan(MOST);
  expect(passage.held).toBeLessThan(MOST);
});

function store(): Promise<RequestMedia> {
  const pieces = async function* () {
    for (let sent = 0; sent < BYTES; sent += PIECE.length) yield PIECE;
  };
  return storeBlob(world.blobs, pieces(), "text/plain");
}

async function ask(
  named: RequestMedia,
  baseUrl: string,
  { blobs: storage }: { blobs: blobs.BlobStorage },
): Promise<void> {
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
  expect(await world.run(ref, engine, { blobs: storage })).toBe("completed");
  await engine.close();
}
