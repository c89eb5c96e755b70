import { createHash } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { blobs } from "@reprise/log";
import { OPTIONAL_EVENTS, type RequestMedia } from "@reprise/protocol";
import { base64HashOf, startMediaModel } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { answer, type FilesServer, startFilesServer } from "../engines/testing/files-server.ts";
import { createFakeEngine } from "../testing/fake-engine.ts";
import { storeBlob } from "../testing/stored-blob.ts";
import { openWorld, type World } from "../testing/world.ts";

/* What is on its way, and what is still referenced of it, not how large the process is: that says little. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

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

test("a blob of 30 MiB is uploaded to an engine with less than 4 MiB of memory", async () => {
  const named = await store();
  const passage = new Passage(BYTES);
  await using server = await startFilesServer();
  const sum = takeUpload(server, named.bytes, (bytes) => passage.arrive(bytes));
  server.nextCompletions(answer);
  await ask(named, server.baseUrl, { media: "upload", blobs: passage.watch(world.blobs) });
  expect(sum.digest("hex")).toBe(named.sha256);
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

/** @returns the SHA-256 of the file, once the server has it */
function takeUpload(server: FilesServer, bytes: number, onPiece: (bytes: number) => void) {
  const sum = createHash("sha256");
  server.nextUploads((request, response) => {
    let head: string | undefined = "";
    let left = bytes;
    request.on("data", (piece: Buffer) => {
      onPiece(piece.length);
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
  return sum;
}

async function ask(
  named: RequestMedia,
  baseUrl: string,
  { media, blobs: storage }: { media?: "upload"; blobs: blobs.BlobStorage },
): Promise<void> {
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
  expect(await world.run(ref, engine, { blobs: storage })).toBe("completed");
  await engine.close();
}
