import { parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { mediaOf } from "../../../testing/stored-blob.ts";
import { startFilesServer } from "../../testing/files-server.ts";
import { createUpstream } from "../upstream.ts";
import type { FilesUpstream } from "./files-api.ts";
import { createServerFiles, type ServerFilesOptions } from "./server-files.ts";

const TENANT = parseTenantId("acme");
const CONTENT = Buffer.from("a file");

async function openWorld(options: ServerFilesOptions = {}, does: Partial<FilesUpstream> = {}) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startFilesServer());
  const upstream = createUpstream({ baseUrl: server.baseUrl });
  stack.defer(() => upstream.close());
  const files = createServerFiles({ ...upstream, ...does }, options);
  const idOf = async (n: number) => {
    const media = {
      ...mediaOf(CONTENT, "text/plain", n),
      link: () => Promise.reject(new Error("no link is asked for")),
      async *read() {
        yield CONTENT;
      },
    };
    const signal = new AbortController().signal;
    return (await files.idOf(TENANT, { media, name: undefined }, { signal, onRefused: () => undefined })).id;
  };
  const owned = stack.move();
  return { server, files, idOf, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test("of more files than are kept the one is deleted at the server that was not named for the longest", async () => {
  await using world = await openWorld({ max: 2 });
  const [one, two] = [await world.idOf(1), await world.idOf(2)];
  expect(await world.idOf(1)).toBe(one);
  const three = await world.idOf(3);
  await expect.poll(() => [...world.server.files.keys()]).toEqual([one, three]);
  expect(await world.idOf(1)).toBe(one);
  expect(await world.idOf(2)).not.toBe(two);
});

test("a file that no request names for so long is deleted at the server", async () => {
  await using world = await openWorld({ keepMs: 20 });
  const ids = [await world.idOf(1), await world.idOf(2)];
  await expect.poll(() => world.server.files.size).toBe(0);
  expect(ids).not.toContain(await world.idOf(1));
});

test("at the end all files are deleted at the server", async () => {
  await using world = await openWorld();
  for (let n = 0; n < 10; n++) await world.idOf(n);
  expect(world.server.files.size).toBe(10);
  await world.files.close();
  expect(world.server.files.size).toBe(0);
});

test("a server that does not answer when its files are to be deleted is not waited for", async () => {
  await using world = await openWorld({ closeMs: 10 }, { remove: () => new Promise<never>(() => undefined) });
  await world.idOf(1);
  await world.files.close();
  expect(world.server.files.size).toBe(1);
});
