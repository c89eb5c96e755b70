import * as z from "zod";

/*
 * The records of OPS, beside what models say. One JSON object per message, under `ops.<tenant>.<kind>.<generation>`; kept for
 * auditors by the audit log.
 */

export const OPS_KINDS = [
  "delivered",
  "attempt",
  "timings",
  "access",
  "erased",
  "administration",
  "blob",
] as const;
export type OpsKind = (typeof OPS_KINDS)[number];

/** Where a client calls from: never its address. */
export const ADDRESS_CLASSES = ["loopback", "private", "public"] as const;
export type AddressClass = (typeof ADDRESS_CLASSES)[number];

/**
 * Protocols by which events are read: as a stream, as one page of events, or as the generation's text so far; in another protocol as a stream or as one
 * answer.
 */
export const READER_PROTOCOLS = [
  "sse",
  "page",
  "snapshot",
  "openai-chat",
  "openai-responses",
  "ai-sdk",
  "tanstack",
  "ag-ui",
] as const;
export type ReaderProtocol = (typeof READER_PROTOCOLS)[number];

const seq = z.int().min(0).brand<"Seq">();

const MOST_MS = 86_400_000;
const elapsedMs = z.number().min(0).max(MOST_MS);
/** Characters of a sketch with 2,368 buckets. */
const MOST_GAPS_CHARS = 32_768;

const readerMarkSchema = z.object({
  /** Id of one connection; two connections of the same client have two. `rdr_` and 16 characters. */
  reader: z.string(),
  protocol: z.enum(READER_PROTOCOLS),
  address: z.enum(ADDRESS_CLASSES),
  /** Whose key it came with. */
  by: z.string(),
  /** The first event it was to be sent. */
  from_seq: seq,
  /** Every event from `from_seq` up to this one was taken by its connection. `from_seq - 1` while there is none. */
  seq,
  /** The last event that its node had when it came: text withdrawn by then it was not handed, and `withdrawn` does not say so. */
  known_seq: seq.optional(),
  started_at: z.string(),
  /** Undefined while the connection is there. */
  ended_at: z.string().optional(),
  /**
   * For a last mark: true if the connection had taken the whole generation, to its end. False for one that left before that, for any reason. Undefined if its
   * node does not know: a snapshot, or events from the archive.
   */
  finished: z.boolean().optional(),
  /**
   * Where the reader was when something was withdrawn: `[the event that withdraws, the last event handed out before]`. Events up to the
   * second were handed out as they were before the first. Withdrawals that came before the reader are not listed: nothing of those was shown.
   */
  withdrawn: z.array(z.tuple([seq, seq])).optional(),
  /** Times at which the log's first output reached it. Undefined unless the connection was open when the broker stored that. */
  first_output: z
    .object({
      /** Milliseconds from the broker's store until the node had it, could show it, and sent it to the connection, by the node's clock. */
      received_ms: elapsedMs,
      shown_ms: elapsedMs,
      sent_ms: elapsedMs,
    })
    .optional(),
  /** For a last mark: the times between two writes, of events that were stored while it was connected. Base64 of a sketch, in microseconds. */
  gaps: z.string().max(MOST_GAPS_CHARS).optional(),
});

/** Delivery to one connection so far. Of the consecutive marks of one reader, the last one counts. */
export type DeliveryMark = z.infer<typeof readerMarkSchema>;

/** Marks of one generation, from one node. */
export const deliveredRecordSchema = z.object({
  kind: z.literal("delivered"),
  at: z.string(),
  node: z.string(),
  readers: z.array(readerMarkSchema).min(1),
});

const ms = elapsedMs.transform(Math.round);

/** A worker's timings of an attempt up to its first output; one record for each attempt that got there. */
export const attemptRecordSchema = z.object({
  kind: z.literal("attempt"),
  at: z.string(),
  attempt: z.int().min(1),
  /** The model whose engine served it. */
  model: z.string(),
  /** From the request to the engine until its first output, in milliseconds. */
  engine_first_ms: elapsedMs,
  /** From that until the broker's answer that it is stored. */
  append_ms: elapsedMs,
});

/** A client's timings of one reading, over all its connections, in milliseconds: rounded. */
export const clientTimingsSchema = z.strictObject({
  /** From a request to the head of its answer: the network's way there and back, and what delivery needs. Of the first connection. */
  round_trip_ms: ms.optional(),
  /** From the first request to the first event, and to the first text. */
  first_event_ms: ms.optional(),
  first_text_ms: ms.optional(),
  /** Between two deltas, reconnects included. */
  longest_gap_ms: ms.optional(),
  reconnects: z.int().min(0).max(1_000_000).optional(),
});
export type ClientTimings = z.infer<typeof clientTimingsSchema>;

/** A client's word for how a generation reached it: not checked, and not to be billed by. */
export const timingsRecordSchema = z.object({
  kind: z.literal("timings"),
  at: z.string(),
  /** Whose key or token it came with. */
  by: z.string(),
  address: z.enum(ADDRESS_CLASSES).optional(),
  timings: clientTimingsSchema,
});

/** An access to what the audit log keeps, or a change of it. */
export const accessRecordSchema = z.object({
  kind: z.literal("access"),
  at: z.string(),
  /** Whose key, or who ran the command. */
  by: z.string(),
  call: z.enum(["list", "search", "read", "replay", "export", "verify", "prove", "erase", "hold"]),
  address: z.enum(ADDRESS_CLASSES).optional(),
  /** Parameters of the query. Never text of a generation. */
  query: z.record(z.string(), z.string()).optional(),
});

/** The generation was erased: each process drops what it has of it in memory. */
export const erasedRecordSchema = z.object({
  kind: z.literal("erased"),
  at: z.string(),
  /** The erasure's id in the archive. */
  erasure: z.string(),
});

/**
 * A change of the tenant by an administrator. Two records of each have the same `change`: one before it, without which it is not made, and
 * one of what became of it.
 */
export const administrationRecordSchema = z.object({
  kind: z.literal("administration"),
  at: z.string(),
  /** `operator`, or the name of the tenant's key. */
  by: z.string(),
  address: z.enum(ADDRESS_CLASSES).optional(),
  call: z.enum([
    "tenant.create",
    "tenant.remove",
    "tenant.policy",
    "key.create",
    "key.rotate",
    "key.revoke",
    "signing_key.add",
    "signing_key.rotate",
    "signing_key.remove",
    "token.revoke",
    "budgets.seed",
  ]),
  /** Pairs the two records. */
  change: z.string(),
  stage: z.enum(["begun", "done", "failed"]),
  /** The key that it is about. */
  key: z.string().optional(),
  /** The tokens that it revokes: `token`, `generation` or `user`, and which. */
  revoked: z.object({ kind: z.string(), value: z.string() }).optional(),
  /** Changed fields, before and after: never a secret, nor a hash of one. */
  before: z.record(z.string(), z.json()).optional(),
  after: z.record(z.string(), z.json()).optional(),
  /** The code of the error that it failed with. */
  error: z.string().optional(),
});

/**
 * Content that a tenant has uploaded, or deleted: the generations that were asked about it name it in their requests. Or content that a generation has
 * made, under that generation: its event names it.
 */
export const blobRecordSchema = z.object({
  kind: z.literal("blob"),
  at: z.string(),
  /** Whose key; `inference-worker` of what a model has made. */
  by: z.string(),
  /** `joined`: the tenant had the same content already. */
  call: z.enum(["stored", "joined", "deleted"]),
  blob: z.string(),
  /** Lower-case hex, of the content. */
  sha256: z.string(),
  bytes: z.int().min(0),
  type: z.string(),
});

export const opsRecordSchema = z.discriminatedUnion("kind", [
  deliveredRecordSchema,
  attemptRecordSchema,
  timingsRecordSchema,
  accessRecordSchema,
  erasedRecordSchema,
  administrationRecordSchema,
  blobRecordSchema,
]);

export type DeliveredRecord = z.infer<typeof deliveredRecordSchema>;
export type AttemptRecord = z.infer<typeof attemptRecordSchema>;
export type TimingsRecord = z.infer<typeof timingsRecordSchema>;
export type AccessRecord = z.infer<typeof accessRecordSchema>;
export type ErasedRecord = z.infer<typeof erasedRecordSchema>;
export type AdministrationRecord = z.infer<typeof administrationRecordSchema>;
export type OpsRecord = z.infer<typeof opsRecordSchema>;

/** Undefined for what is no record of OPS. */
export function decodeOpsRecord(payload: Uint8Array): OpsRecord | undefined {
  try {
    return opsRecordSchema.safeParse(JSON.parse(new TextDecoder().decode(payload))).data;
  } catch {
    return undefined;
  }
}

export function encodeOpsRecord(record: OpsRecord): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(record));
}
