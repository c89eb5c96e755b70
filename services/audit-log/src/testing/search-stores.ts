import { asStreamSeq } from "@reprise/protocol";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type BlobStore, type Keyring, openSegment, readSegmentFile } from "@reprise/archive";
import { type Broker, readStreamMessages } from "@reprise/broker";
import { PATIENCE_MS } from "@reprise/testkit";

/** The files of a folder, at any depth, that hold a text as it is. */
export async function filesWith(dir: string, text: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const found = entries
    .filter((entry) => entry.isFile())
    .map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      // The server may have taken it away meanwhile.
      const bytes = await readFile(path).catch(() => Buffer.alloc(0));
      return bytes.includes(text) ? [path] : [];
    });
  return (await Promise.all(found)).flat();
}

/** The streams that a broker hands out a text from. */
export async function streamsWith({ main, reads }: Broker, text: string): Promise<string[]> {
  const names = await main.request("$JS.API.STREAM.NAMES", "", { timeout: PATIENCE_MS });
  const { streams } = names.json<{ streams: string[] }>();
  const found: string[] = [];
  for (const stream of streams) {
    for (let after = 0; ;) {
      const batch = { afterStreamSeq: asStreamSeq(after), maxMessages: 500, maxBytes: 4_000_000 };
      const messages = await readStreamMessages(reads, stream, batch).catch(() => []);
      if (messages.length === 0) break;
      after = messages.at(-1)!.streamSeq;
      if (messages.some(({ payload }) => Buffer.from(payload).includes(text)))
        found.push(`${stream} ${after}`);
    }
  }
  return found;
}

/** Everything in an archive that its keys open: of all files that lie there, committed or not. */
export async function readableTexts(store: BlobStore, keyring: Keyring): Promise<string[]> {
  const texts: string[] = [];
  for await (const { key } of store.list("data/")) {
    for (const segment of await readSegmentFile((await store.get(key))!)) {
      const dataKey = await keyring.open(segment.header.tenant, segment.header.kid);
      if (typeof dataKey === "string") continue;
      for (const { payload } of openSegment(segment, dataKey)) texts.push(Buffer.from(payload).toString());
    }
  }
  return texts;
}
