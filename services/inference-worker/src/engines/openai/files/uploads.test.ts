import { parseTenantId, RepriseError } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { mediaOf } from "../../../testing/stored-blob.ts";
import { type EngineRequest, type GenerateOptions, type MediaSource, NO_PROGRESS } from "../../engine.ts";
import { collect } from "../../testing/collect.ts";
import {
  cutAfter,
  type FilesServer,
  refuse,
  refuseEarly,
  startFilesServer,
} from "../../testing/files-server.ts";
import { createOpenaiEngine, type OpenaiEngineOptions } from "../openai-engine.ts";

const ACME = parseTenantId("acme");
const BETA = parseTenantId("beta");
const PDF = Buffer.concat([Buffer.from("%PDF-1.7\r\n\r\n--"), Buffer.alloc(300_000, "\0\r\n-")]);
const PNG = Buffer.from("an image");
const pdf = mediaOf(PDF, "application/pdf", 1);
const image = mediaOf(PNG, "image/png", 2);
const sound = mediaOf(PNG, "audio/mpeg", 3);
const note = mediaOf(PNG, "text/plain", 4);
const contents = new Map(
  [pdf, image, sound, note].map((named) => [
    named.blob as string,
    { named, content: named === pdf ? PDF : PNG },
  ]),
);

const media: MediaSource = {
  async find(reference) {
    const { named, content } = contents.get(reference)!;
    return {
      ...named,
      link: () => Promise.reject(new Error("no link is asked for")),
      async *read() {
        // As a store may, one memory for all pieces.
        const memory = new Uint8Array(70_000);
        for (let from = 0; from < content.length; from += memory.length) {
          const piece = content.subarray(from, from + memory.length);
          memory.set(piece);
          yield memory.subarray(0, piece.length);
        }
      },
    };
  },
};

const FILE = { type: "file", blob: pdf.blob, name: 'a "b"\r\nc.pdf' };
const asking = (...parts: object[]) =>
  [{ role: "user", content: parts }] as unknown as EngineRequest["input"];

async function openWorld(options: Partial<OpenaiEngineOptions> = {}, count = 1) {
  await using stack = new AsyncDisposableStack();
  const servers: FilesServer[] = [];
  for (let i = 0; i < count; i++) servers.push(stack.use(await startFilesServer(`file${i}`)));
  const [baseUrl, ...moreBaseUrls] = servers.map((server) => server.baseUrl);
  const engine = createOpenaiEngine({
    baseUrl: baseUrl!,
    moreBaseUrls,
    upstreamModel: "m",
    media: "upload",
    health: { intervalMs: 3_600_000 },
    ...options,
  });
  stack.defer(() => engine.close());
  const run = (parts: object[] = [FILE], overrides: Partial<GenerateOptions> = {}) =>
    collect(
      engine.generate(
        { model: "public", input: asking(...parts) },
        { ...NO_PROGRESS, signal: new AbortController().signal, tenant: ACME, media, ...overrides },
      ),
    );
  const owned = stack.move();
  return { engine, servers, server: servers[0]!, run, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const namedIn = (server: FilesServer) => server.asked.map(({ messages }) => messages[0]!.content);
const naming = (...ids: string[]) => ids.map((file_id) => [{ type: "file", file: { file_id } }]);

describe("a file that a part names", () => {
  test("is uploaded byte for byte under its name, and named by the server's id for it", async () => {
    await using world = await openWorld();
    expect(await world.run()).toMatchObject({ text: "Read." });
    expect(world.server.uploads).toEqual([
      {
        id: "file0-1",
        purpose: "user_data",
        name: FILE.name,
        type: "application/pdf",
        content: PDF,
      },
    ]);
    expect(namedIn(world.server)).toEqual(naming("file0-1"));
  });

  test("is uploaded once for all requests of a tenant, and to each tenant's own", async () => {
    await using world = await openWorld();
    await world.run();
    await world.run();
    await world.run([FILE], { tenant: BETA });
    await world.run([{ ...FILE, name: "other.pdf" }]);
    await world.run([FILE, FILE]);
    expect(world.server.uploads).toHaveLength(3);
    expect(namedIn(world.server)).toEqual([
      ...naming("file0-1", "file0-1", "file0-2", "file0-3"),
      [...naming("file0-1"), ...naming("file0-1")].flat(),
    ]);
  });

  test("has a name that tells its type where its part has none", async () => {
    await using world = await openWorld();
    for (const { blob } of [pdf, note]) await world.run([{ type: "file", blob }]);
    expect(world.server.uploads.map(({ name }) => name)).toEqual(["file.pdf", "file.txt"]);
  });

  test("goes within the request where it is in the request itself, as images and sound do", async () => {
    await using world = await openWorld();
    const url = `data:application/pdf;base64,${PNG.toString("base64")}`;
    await world.run([
      { type: "file", url, name: "inline.pdf" },
      { type: "image", blob: image.blob },
      { type: "audio", blob: sound.blob },
    ]);
    const base64 = PNG.toString("base64");
    expect(namedIn(world.server)).toEqual([
      [
        { type: "file", file: { filename: "inline.pdf", file_data: url } },
        { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } },
        { type: "input_audio", input_audio: { data: base64, format: "mp3" } },
      ],
    ]);
    expect(world.server.calls).toEqual(["POST /v1/chat/completions"]);
  });

  test("is uploaded once for requests that come at the same time, and again where the first has left", async () => {
    await using world = await openWorld();
    await Promise.all([world.run(), world.run(), world.run()]);
    expect(world.server.uploads).toHaveLength(1);

    const begun = Promise.withResolvers<void>();
    world.server.nextUploads(() => begun.resolve());
    const abort = new AbortController();
    const parts = [{ ...FILE, name: "later.pdf" }];
    const first = world.run(parts, { signal: abort.signal });
    await begun.promise;
    const second = world.run(parts);
    abort.abort(new Error("left"));
    expect((await first).error).toMatchObject({ message: "left" });
    expect(await second).toMatchObject({ text: "Read." });
    expect(namedIn(world.server).at(-1)).toEqual(naming("file0-2")[0]);
  });
});

describe("a server that has lost a file", () => {
  test("is sent it anew, and the request once more", async () => {
    await using world = await openWorld();
    await world.run();
    world.server.forget("file0-1");
    expect(await world.run()).toMatchObject({ text: "Read." });
    expect(namedIn(world.server)).toEqual(naming("file0-1", "file0-1", "file0-2"));
    expect(await world.run()).toMatchObject({ text: "Read." });
    expect(world.server.uploads).toHaveLength(2);
  });

  test("is not sent it where it has it, and refuses the request for another reason", async () => {
    await using world = await openWorld();
    await world.run();
    world.server.nextCompletions(refuse(400));
    expect((await world.run()).error).toMatchObject({
      code: "engine_rejected",
      message: "The engine answered 400.",
    });
    expect(world.server.calls.slice(2)).toEqual(["POST /v1/chat/completions", "GET /v1/files/file0-1"]);
  });

  test("is sent it once, whatever it says then, and not at all where it was sent it just now", async () => {
    await using world = await openWorld();
    await world.run();
    world.server.forget("file0-1");
    world.server.nextCompletions(refuse(404), refuse(404));
    expect((await world.run()).error).toMatchObject({ code: "engine_rejected" });
    expect(world.server.uploads).toHaveLength(2);
    world.server.nextCompletions(refuse(404));
    expect((await world.run([{ ...FILE, name: "new.pdf" }])).error).toMatchObject({
      code: "engine_rejected",
    });
    expect(world.server.uploads).toHaveLength(3);
  });
});

describe("an upload", () => {
  test.each([
    ["refused (400)", refuse(400), "The engine answered 400 to the upload of a file."],
    ["refused as too large (413)", refuse(413), "The engine answered 413 to the upload of a file."],
    ["refused before it is there", refuseEarly(413), "The engine answered 413 to the upload of a file."],
    ["to a server without files (404)", refuse(404), "The engine answered 404 to the upload of a file."],
  ])("that is %s ends the request, which the engine is not asked", async (_, serve, message) => {
    await using world = await openWorld();
    world.server.nextUploads(serve);
    expect((await world.run()).error).toMatchObject({
      code: "engine_rejected",
      message,
      retryable: false,
      retry: "never",
    });
    expect(world.server.asked).toEqual([]);
  });

  test.each([
    ["nothing", "{}"],
    ["no JSON", "file-1"],
    ["a path", '{"id":"../../chat"}'],
    ["a number", '{"id":7}'],
    ["more than an id", JSON.stringify({ id: "a".repeat(70_000) })],
  ])("that is answered with %s in the place of an id fails", async (_, body) => {
    await using world = await openWorld();
    world.server.nextUploads((request, response) => {
      request.resume().on("end", () => response.end(body));
    });
    expect((await world.run()).error).toMatchObject({
      code: "engine_failed",
      message: "The engine's answer to the upload of a file has no id.",
    });
  });

  test("that is cut in the middle is a broken engine, and the next request begins it anew", async () => {
    await using world = await openWorld();
    world.server.nextUploads(cutAfter(100_000));
    expect((await world.run()).error).toMatchObject({ code: "engine_unavailable", retry: "broken" });
    expect(await world.run()).toMatchObject({ text: "Read." });
    expect(world.server.uploads.map(({ content }) => content.equals(PDF))).toEqual([true]);
  });

  test("whose content can't be read fails as that does", async () => {
    await using world = await openWorld();
    const away = new RepriseError("broker_unavailable", "The broker does not answer.");
    const failing: MediaSource = {
      async find(reference) {
        return {
          ...(await media.find(reference)),
          async *read() {
            yield PDF.subarray(0, 70_000);
            throw away;
          },
        };
      },
    };
    expect((await world.run([FILE], { media: failing })).error).toBe(away);
    expect(world.server.asked).toEqual([]);
  });

  test("that a server has no room for goes to the next, whose own id is named there", async () => {
    await using world = await openWorld({ hasAffinity: false }, 2);
    const [one, two] = world.servers as [FilesServer, FilesServer];
    const route = { avoid: new Set([two.baseUrl]), took: () => undefined };
    await world.run([FILE], { route });
    expect(namedIn(one)).toEqual(naming("file0-1"));
    await world.run([FILE], { route: { ...route, avoid: new Set([one.baseUrl]) } });
    expect(namedIn(two)).toEqual(naming("file1-1"));

    one.nextUploads(refuse(503));
    expect(await world.run([{ ...FILE, name: "next.pdf" }], { route })).toMatchObject({ text: "Read." });
    expect(namedIn(two)).toEqual(naming("file1-1", "file1-2"));
    expect(one.asked).toHaveLength(1);
  });

  test.each([
    [503, "busy", "a server that has no room"],
    [401, "refused", "a server with another key"],
    [404, "left", "nothing: a server without files is as good as others for all else"],
    [413, "left", "nothing: the file is at fault"],
    [500, "failed", "a broken server"],
  ])(
    "that is refused with %i is %s: what is held against the server is that of %s",
    async (status, outcome) => {
      await using world = await openWorld({ hasAffinity: false }, 2);
      const [one, two] = world.servers as [FilesServer, FilesServer];
      const told: unknown[] = [];
      const nothing = () => undefined;
      const onEnded = (replica: number, what: string) => void told.push([replica, what]);
      world.engine.replicas!.observe({ onEnded, onEjected: nothing, onBack: nothing });
      one.nextUploads(refuse(status));
      await world.run([FILE], { route: { avoid: new Set([two.baseUrl]), took: nothing } });
      expect(told[0]).toEqual([0, outcome]);
    },
  );
});
