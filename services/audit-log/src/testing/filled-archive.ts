import { join } from "node:path";
import {
  type Archive,
  ArchiveReader,
  type ArchiveRecord,
  createFileStore,
  createNoteKey,
  type Keyring,
  openArchive,
  openKeyring,
} from "@reprise/archive";
import type { StreamMessage } from "@reprise/broker";
import {
  encodeEvent,
  encodeInput,
  encodeOpsRecord,
  encodeVerdict,
  type EventDraft,
  type GenerationRef,
  type InputRecord,
  inputStreamOf,
  inputSubject,
  logSubject,
  OPS_STREAM,
  type OpsRecord,
  opsSubject,
  streamOf,
  type Verdict,
  verdictSubject,
  VERDICTS_STREAM,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { createTempDir } from "@reprise/testkit";
import { GenerationKeys } from "../archiving/generation-keys.ts";
import { sealBatch } from "../archiving/lane/seal-batch.ts";
import { MASTER_KEY, SIGNING_SEED } from "./test-keys.ts";

export interface FilledArchive extends AsyncDisposable {
  /** Folder of the archive's files. */
  readonly dir: string;
  readonly keysDir: string;
  readonly archive: Archive;
  readonly keyring: Keyring;
  readonly reader: ArchiveReader;
  /** Appends an event to its stream, as the broker would. It is archived by `commit`. */
  event(ref: GenerationRef, seq: number, draft: EventDraft, storedAtUs: number): void;
  /** Puts a whole log there, its events a millisecond apart. */
  log(ref: GenerationRef, drafts: readonly EventDraft[], storedAtUs: number): void;
  input(ref: GenerationRef, record: InputRecord, storedAtUs: number): void;
  verdict(ref: GenerationRef, verdict: Verdict): void;
  ops(ref: GenerationRef, record: OpsRecord): void;
  /** Archives what was put there since the last time: one batch of each stream. */
  commit(): Promise<void>;
  /** Has the archive say that a generation was erased, and that these were its keys. Destroys nothing. */
  sayErased(ref: GenerationRef, at: string, kids: readonly string[]): Promise<void>;
  /** Replaces all streams by new ones, which begin from the start. */
  beginAnew(): void;
}

/** An archive in a folder, written by the code that archives, without a broker. */
export async function openFilledArchive(): Promise<FilledArchive> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await createTempDir("audit"));
  const [dir, keysDir] = [join(path, "archive"), join(path, "keys")];
  const store = createFileStore(dir);
  const keyring = await openKeyring({
    store: createFileStore(join(keysDir, "wrapped")),
    masterKey: MASTER_KEY,
  });
  const onError = (error: unknown) => {
    throw error;
  };
  const signer = createNoteKey("test", SIGNING_SEED);
  const archive = await openArchive({ store, name: "test", writer: { name: "writer", signer, onError } });
  const keys = new GenerationKeys(archive, keyring);
  const waiting = new Map<string, StreamMessage[]>();
  const lasts = new Map<string, number>();
  let epoch = 0;
  const kept = stack.move();

  const put = (stream: string, subject: string, storedAtUs: number, payload: Uint8Array) => {
    const streamSeq = (lasts.get(stream) ?? 0) + 1;
    lasts.set(stream, streamSeq);
    waiting.set(stream, [
      ...(waiting.get(stream) ?? []),
      {
        streamSeq: asStreamSeq(streamSeq),
        storedAtUs,
        subject,
        payload,
        isPublished: true,
      },
    ]);
  };
  const event: FilledArchive["event"] = (ref, seq, draft, storedAtUs) =>
    put(streamOf(ref.generation), logSubject(ref), storedAtUs, encodeEvent(asSeq(seq), draft));

  return {
    dir,
    keysDir,
    archive,
    keyring,
    reader: new ArchiveReader({ archive, keyring }),
    event,
    log(ref, drafts, storedAtUs) {
      for (const [seq, draft] of drafts.entries()) event(ref, seq, draft, storedAtUs + 1_000 * seq);
    },
    input: (ref, record, storedAtUs) =>
      put(inputStreamOf(ref.generation), inputSubject(ref), storedAtUs, encodeInput(record)),
    verdict: (ref, verdict) => put(VERDICTS_STREAM, verdictSubject(ref), 0, encodeVerdict(verdict)),
    ops: (ref, record) =>
      put(OPS_STREAM, opsSubject(record.kind, ref.tenant, ref.generation), 0, encodeOpsRecord(record)),
    async commit() {
      for (const [stream, messages] of waiting) {
        const [first, last] = [messages[0]!.streamSeq, messages.at(-1)!.streamSeq];
        const place = { stream, epoch, created: "2026-11-21", first, last };
        const batch = { ...place, messages, missing: [], maybeExpired: [] };
        const { draft } = await sealBatch(batch, archive.state, { store, keyring, keys, onError });
        await archive.append(() => draft);
      }
      waiting.clear();
    },
    async sayErased({ tenant, generation }, at, kids) {
      const id = `erasure of ${generation}`;
      const records: ArchiveRecord[] = [
        { kind: "erasure_requested", at, id, by: "ann", reason: "", generations: [generation], purged: {} },
        { kind: "key_destroyed", at, id, kids: [...kids] },
      ];
      await archive.append(() => ({ tenants: [{ tenant, leaves: [], files: [], removes: [], records }] }));
    },
    beginAnew() {
      epoch++;
      lasts.clear();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
