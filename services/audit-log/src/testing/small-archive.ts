import { randomBytes } from "node:crypto";
import {
  type BlobCopy,
  type BlobStore,
  copyKey,
  createNoteKey,
  type Keyring,
  type NoteKey,
  openArchive,
  openKeyring,
  sealCopy,
  sha256Hex,
  parseDataKey,
} from "@reprise/archive";
import { createMemoryStore } from "@reprise/archive/testing";
import type { StreamMessage } from "@reprise/broker";
import {
  createGenerationId,
  DEFAULT_POLICY,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  generationsStream,
  logSubject,
  parseTenantId,
  type StreamSeq,
  STREAM_START,
  plus,
  asSeq,
} from "@reprise/protocol";
import { subjectTag } from "../records/search-tags.ts";
import { GenerationKeys } from "../archiving/generation-keys.ts";
import { sealBatch } from "../archiving/lane/seal-batch.ts";
import { compact } from "../lifecycle/maintenance/compaction.ts";
import { eraseSubject } from "../lifecycle/erasure/erase.ts";

const NAME = "small";
const STREAM = generationsStream(0);
const CREATED = "2026-01-01T00:00:00Z";
/** More than a tile has leaves, and more commits than a snapshot waits for. */
const GENERATIONS = 600;
const COMMITS = 70;
const SHARDS = 1;
const COPIES = 2;
const COPIED_BYTES = 10_000;
const STARTED_US = Date.UTC(2026, 0, 1) * 1_000;

export interface SmallArchive {
  readonly name: string;
  readonly objects: Map<string, Uint8Array>;
  readonly store: BlobStore;
  readonly signer: NoteKey;
  readonly keyring: Keyring;
  /** The objects of the keyring, and the key that wraps them. */
  readonly keys: { readonly objects: ReadonlyMap<string, Uint8Array>; readonly masterKey: Uint8Array };
}

/**
 * Makes an archive of two tenants in memory with all that archives have: many commits, tiles, a snapshot, merged files, copies of blobs, an erasure.
 * @param gapAt the commit before which messages are lost
 */
export async function makeSmallArchive({ gapAt }: { gapAt?: number } = {}): Promise<SmallArchive> {
  const signer = createNoteKey(NAME);
  const objects = new Map<string, Uint8Array>();
  const store = createMemoryStore(objects);
  const keys = { objects: new Map<string, Uint8Array>(), masterKey: randomBytes(32) };
  const keyring = await openKeyring({ store: createMemoryStore(keys.objects), masterKey: keys.masterKey });
  const onError = (error: unknown) => {
    throw error;
  };
  const archive = await openArchive({ store, name: NAME, writer: { name: "writer", signer, onError } });
  const context = { store, keyring, keys: new GenerationKeys(archive, keyring), onError };

  let last = STREAM_START;
  const next = createMessages();
  for (let n = 0; n < COMMITS; n++) {
    const first = plus(last, 1);
    const lost = n === gapAt ? 5 : 0;
    const messages = next(Math.ceil(GENERATIONS / COMMITS), plus(first, lost));
    last = messages.at(-1)?.streamSeq ?? last;
    const missing: [StreamSeq, StreamSeq][] = lost > 0 ? [[first, plus(first, lost - 1)]] : [];
    const place = { stream: STREAM, epoch: 0, created: CREATED, first, last };
    const batch = { ...place, messages, missing, maybeExpired: missing };
    const { draft } = await sealBatch(batch, archive.state, context);
    await archive.append(() => draft);
  }
  const tenant = parseTenantId("acme");
  for (let i = 0; i < COPIES; i++) {
    const copy = await copyBlob({ store, keyring }, { tenant, i });
    await archive.append(() => ({
      tenants: [{ tenant, leaves: [], files: [], removes: [], records: [copy] }],
    }));
  }
  const some = archive.state.files(tenant).slice(0, 8);
  const day = parseDataKey(some[0]?.key ?? "")?.day;
  if (day === undefined) throw new Error("The small archive has no file of its first tenant.");
  await compact({ archive, store }, tenant, { day, stream: STREAM, files: some });
  await eraseSubject(
    { archive, store, keyring, live: undefined },
    { tenant, subject: "person-0", by: "auditor", reason: "asked for" },
  );
  return { name: NAME, objects, store, signer, keyring, keys };
}

/** The content of an image of the second person. */
async function copyBlob(
  { store, keyring }: { readonly store: BlobStore; readonly keyring: Keyring },
  { tenant, i }: { readonly tenant: string; readonly i: number },
): Promise<BlobCopy> {
  const key = await keyring.keyFor({ tenant, generation: "-", subject: "person-1" });
  await keyring.flush();
  const blob = `blob_${i}`;
  const place = { tenant, blob, epoch: 0, streamSeq: plus(STREAM_START, 1 + i) };
  const bytes = randomBytes(COPIED_BYTES);
  const content = (async function* () {
    yield bytes;
  })();
  const described = { blob, type: "image/png", bytes: bytes.length, sha256: sha256Hex(bytes), content };
  const draft = {
    at: CREATED,
    tag: await keyring.tag(tenant, subjectTag("person-1")),
    blob,
    key: copyKey(place, randomBytes(8).toString("hex")),
    salt: randomBytes(16).toString("hex"),
  };
  const copy = await sealCopy(store, draft, described, key);
  if (!copy) throw new Error("The small archive's blob is not what it is.");
  return copy;
}

/** Generations of two tenants in turn, each a request, some words and an end. */
function createMessages(): (generations: number, firstStreamSeq: StreamSeq) => StreamMessage[] {
  let made = 0;
  return (generations, firstStreamSeq) => {
    const messages: StreamMessage[] = [];
    for (let i = 0; i < generations; i++, made++) {
      const ref: GenerationRef = {
        tenant: parseTenantId(made % 2 === 0 ? "acme" : "beta"),
        generation: createGenerationId(randomBytes(17), SHARDS),
      };
      for (const [seq, draft] of draftsOf(ref, made).entries()) {
        const streamSeq = plus(firstStreamSeq, messages.length);
        const storedAtUs = STARTED_US + streamSeq * 1_000;
        messages.push({
          streamSeq,
          storedAtUs,
          isPublished: true,
          subject: logSubject(ref),
          payload: encodeEvent(asSeq(seq), draft),
        });
      }
    }
    return messages;
  };
}

function draftsOf(ref: GenerationRef, number: number): EventDraft[] {
  const request = { model: "sim", input: "hello", subject: `person-${number % 6}` };
  return [
    { type: "generation.requested", ...ref, created_at: CREATED, request, policy: DEFAULT_POLICY },
    { type: "generation.started", attempt: 1, worker: "w1", model: "sim" },
    { type: "output.delta", text: `This is answer ${number}.` },
    {
      type: "generation.completed",
      finish_reason: "stop",
      usage: { input_tokens: 1, output_tokens: 4 },
    },
  ];
}
