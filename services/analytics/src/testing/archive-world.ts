import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  type Archive,
  type ArchiveRecord,
  createFileStore,
  createNoteKey,
  dataKey,
  encodeFingerprints,
  encodeSegmentFile,
  type Keyring,
  leafHashOf,
  openArchive,
  openKeyring,
  sealSegment,
  sha256Hex,
} from "@reprise/archive";
import type { StoredBytes } from "@reprise/facts/testing";
import { asSeq, asStreamSeq, decodeEvent, type GenerationRef, streamOf } from "@reprise/protocol";
import { localFiles } from "@reprise/facts/tables";
import { createTempDir } from "@reprise/testkit";
import { ArchivedGenerations } from "../rebuild/archived-generations.ts";

const MASTER_KEY = Buffer.alloc(32, 7);

/** An archive in a folder, as the audit log writes it. */
export interface ArchiveWorld extends AsyncDisposable {
  readonly dir: string;
  readonly keysDir: string;
  readonly archive: Archive;
  readonly archived: ArchivedGenerations;
  /** Archives a part of a log in a commit of its own. @param fromSeq of its first event */
  add(ref: GenerationRef, part: readonly StoredBytes[], fromSeq: number): Promise<void>;
  /** Archives a log in parts that end after these events. */
  addLog(ref: GenerationRef, log: readonly StoredBytes[], cuts?: readonly number[]): Promise<void>;
  record(tenant: string, record: ArchiveRecord): Promise<void>;
}

export async function openArchiveWorld(): Promise<ArchiveWorld> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await createTempDir("archive"));
  const [dir, keysDir] = [join(path, "audit"), join(path, "audit-keys")];
  const keyring: Keyring = await openKeyring({
    store: createFileStore(join(keysDir, "wrapped")),
    masterKey: MASTER_KEY,
  });
  const onError = (error: unknown) => {
    throw error;
  };
  const writer = { name: "writer", signer: createNoteKey("reprise", Buffer.alloc(32, 9)), onError };
  const archive = await openArchive({ store: createFileStore(dir), name: "reprise", writer });
  const archived = stack.use(new ArchivedGenerations({ archive, keyring, files: localFiles(dir) }));
  const kept = stack.move();
  const add: ArchiveWorld["add"] = async (ref, part, fromSeq) => {
    const stream = streamOf(ref.generation);
    const before = archive.state.lanes.get(stream)?.last ?? 0;
    const messages = part.map((one, i) => ({ ...one, streamSeq: asStreamSeq(before + 1 + i) }));
    const [first, last] = [messages[0]!, messages.at(-1)!];
    const { type } = decodeEvent(last.payload);
    const status = (["completed", "failed", "cancelled"] as const).find(
      (one) => type === `generation.${one}`,
    );
    const key = await keyring.keyFor(ref);
    await keyring.flush();
    const place = { first_at: first.storedAtUs, last_at: last.storedAtUs };
    const segment = sealSegment(
      {
        v: 1,
        ...ref,
        kind: "log",
        stream,
        epoch: 0,
        first_stream_seq: first.streamSeq,
        last_stream_seq: last.streamSeq,
        events: part.length,
        first_seq: asSeq(fromSeq),
        last_seq: asSeq(fromSeq + part.length - 1),
        ...place,
        ...(status && { status }),
      },
      messages,
      key,
      randomBytes,
    );
    const bytes = encodeSegmentFile([segment]);
    const sha256 = sha256Hex(bytes);
    const day = new Date(first.storedAtUs / 1_000).toISOString().slice(0, "2026-11-23".length);
    const range = { stream, first: first.streamSeq, last: last.streamSeq };
    const file = {
      key: dataKey({ tenant: ref.tenant, day, ...range, sha256 }),
      sha256,
      bytes: bytes.length,
      segments: 1,
      events: part.length,
      ...place,
      generations: encodeFingerprints([ref.generation]),
    };
    await archive.store.put(file.key, bytes);
    await archive.append(() => ({
      lane: {
        ...range,
        epoch: 0,
        created: "2026-11-21T00:00:00Z",
        last_seq_stored: last.streamSeq,
        last_at: last.storedAtUs,
        events: part.length,
        gaps: [],
        skipped: [],
      },
      tenants: [
        { tenant: ref.tenant, leaves: [leafHashOf(segment)], files: [file], removes: [], records: [] },
      ],
    }));
  };
  return {
    dir,
    keysDir,
    archive,
    archived,
    add,
    async addLog(ref, log, cuts = []) {
      const ends = [...new Set([...cuts, log.length])].filter((end) => end > 0 && end <= log.length);
      let from = 0;
      for (const end of ends.toSorted((a, b) => a - b)) {
        await add(ref, log.slice(from, end), from);
        from = end;
      }
    },
    async record(tenant, record) {
      await archive.append(() => ({
        tenants: [{ tenant, leaves: [], files: [], removes: [], records: [record] }],
      }));
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
