import * as z from "zod";
import { LIMITS, parseWith, RepriseError } from "@reprise/protocol";

/** Subprotocol of the frames of this version. */
export const SOCKET_PROTOCOL = "reprise.v1";
/** Begins a subprotocol that ends with a stream token, for pages: browsers can set no header. */
export const SOCKET_TOKEN_PROTOCOL = "reprise.token.";

export const SOCKET_LIMITS = {
  /** Calls and streams of one connection at a time. */
  open: 1_000,
  /** Bytes of a client's frame. */
  frame_bytes: 1_048_576,
  /** Bytes of a stream's frames that the client has not confirmed yet. */
  ahead_bytes: 262_144,
  /** Milliseconds in which a connection without a key must send one. */
  auth_ms: 10_000,
} as const;

/** Close codes. */
export const SOCKET_CLOSES = {
  /** The frame is malformed or unknown; the reason names the field. */
  badFrame: 4400,
  /** No key or token came in time, or before another frame. */
  unauthenticated: 4401,
  /** The id of the frame is in use. */
  idInUse: 4409,
  /** Too many calls and streams are open. */
  tooMany: 4429,
  /** The node drains. */
  draining: 4503,
} as const;

const id = z.int().min(1).max(0xffff_ffff);
/** A name in a URL, where a half of a surrogate pair can't be. */
const name = z
  .string()
  .max(64)
  .refine((text) => text.isWellFormed(), { error: "is not well-formed text" });
const generation = name.min(1);

const clientFrameSchema = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("auth"), token: z.string().min(1).max(4_096) }),
  z.strictObject({
    op: z.literal("create"),
    id,
    request: z.unknown(),
    idempotency_key: z.string().min(1).max(LIMITS.idempotencyKeyLength).optional(),
    follow: z.boolean().optional(),
  }),
  z.strictObject({ op: z.literal("follow"), id, generation, after: name.optional() }),
  z.strictObject({ op: z.literal("input"), id, generation, first: z.int(), entries: z.array(z.unknown()) }),
  z.strictObject({ op: z.literal("cancel"), id, generation, reason: z.string().optional() }),
  z.strictObject({ op: z.literal("interrupt"), id, generation, heard: name }),
  z.strictObject({
    op: z.literal("tool"),
    id,
    generation,
    call_id: z.string(),
    output: z.unknown().optional(),
    content: z.unknown().optional(),
  }),
  z.strictObject({ op: z.literal("read"), id, sent: z.int().min(0) }),
  z.strictObject({ op: z.literal("leave"), id }),
]);

/** A frame that a client sends. */
export type ClientFrame = z.infer<typeof clientFrameSchema>;

/**
 * Parses a text frame of a client.
 * @throws RepriseError `invalid_json`, `invalid_request` that names the first wrong field in `param`
 */
export function parseClientFrame(text: string): ClientFrame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RepriseError("invalid_json", "The frame is not JSON.");
  }
  return parseWith(clientFrameSchema, value, "frame");
}

/** A binary frame: one entry of sound. */
export interface AudioFrame {
  readonly id: number;
  /** Id of a stream of the same connection, whose generation the sound is for. */
  readonly stream: number;
  /** Number of the entry. */
  readonly first: number;
  readonly audio: Uint8Array;
}

const AUDIO_HEADER_BYTES = 12;

/**
 * Parses a binary frame of a client: `id`, `stream` and `first` as unsigned 32-bit numbers, big-endian, then the sound.
 * @throws RepriseError `invalid_request`
 */
export function parseAudioFrame(frame: Uint8Array): AudioFrame {
  if (frame.length <= AUDIO_HEADER_BYTES)
    throw new RepriseError(
      "invalid_request",
      `frame: has ${frame.length} bytes; a binary frame has a header of ${AUDIO_HEADER_BYTES} and sound`,
    );
  const header = new DataView(frame.buffer, frame.byteOffset, AUDIO_HEADER_BYTES);
  const [at, stream, first] = [header.getUint32(0), header.getUint32(4), header.getUint32(8)];
  if (at === 0) throw new RepriseError("invalid_request", "frame: the id is 0; ids begin with 1");
  return { id: at, stream, first, audio: frame.subarray(AUDIO_HEADER_BYTES) };
}
