import { RepriseError } from "./errors/reprise-error.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type TenantId = Branded<"TenantId">;
export type GenerationId = Branded<"GenerationId">;
export type WorkerId = Branded<"WorkerId">;
/** One process that serves readers. */
export type NodeId = Branded<"NodeId">;

/** Names one generation's log. It is checked: both parts come from the parsers below. */
export interface GenerationRef {
  readonly tenant: TenantId;
  readonly generation: GenerationId;
}

/**
 * Text allowed between the dots of a subject. NATS itself accepts and *stores* publishes to `*` and `>`, so nothing that fails this pattern may ever reach a
 * subject.
 */
const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;
const GENERATION_ID = /^gen_(0|[1-9][0-9]{0,2})_[0-9a-v]{26}$/;
const BASE32 = "0123456789abcdefghijklmnopqrstuv";
const ID_CHARS = 26;

export const MAX_SHARDS = 1_000;

/**
 * A shard's number is part of subjects and stream names, where a fraction would bring a dot.
 * @throws TypeError unless it is a whole number from 0 to 999
 */
export function assertShard(shard: number): void {
  if (Number.isInteger(shard) && shard >= 0 && shard < MAX_SHARDS) return;
  throw new TypeError(`a shard is a whole number from 0 to ${MAX_SHARDS - 1}, got ${shard}`);
}

export function isToken(value: string): boolean {
  return TOKEN.test(value);
}

function parseToken(value: unknown, param: string): string {
  if (typeof value === "string" && TOKEN.test(value)) return value;
  throw new RepriseError(
    "invalid_request",
    `${param} must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -.`,
    { param },
  );
}

export function isTenantId(value: unknown): value is TenantId {
  return typeof value === "string" && TOKEN.test(value);
}

/** @throws RepriseError `invalid_request` */
export function parseTenantId(value: unknown): TenantId {
  return parseToken(value, "tenant") as TenantId;
}

/** @throws RepriseError `invalid_request` */
export function parseWorkerId(value: unknown): WorkerId {
  return parseToken(value, "worker") as WorkerId;
}

/** @throws RepriseError `invalid_request` */
export function parseNodeId(value: unknown): NodeId {
  return parseToken(value, "node") as NodeId;
}

export function isNodeId(value: unknown): value is NodeId {
  return typeof value === "string" && TOKEN.test(value);
}

export function isGenerationId(value: unknown): value is GenerationId {
  return typeof value === "string" && GENERATION_ID.test(value);
}

/** @throws RepriseError `generation_not_found`: an id that the platform did not make belongs to no generation. */
export function parseGenerationId(value: unknown): GenerationId {
  if (isGenerationId(value)) return value;
  throw generationNotFound();
}

/** The same whether the id is malformed, another tenant's, or that of a log which is long gone: the caller cannot tell which. */
export function generationNotFound(): RepriseError {
  return new RepriseError("generation_not_found", "There is no generation with this id.", { param: "id" });
}

/** The shard that a generation's log lives in: part of the id, so that changing the number of shards never moves a log. */
export function shardOf(generation: GenerationId): number {
  return Number(generation.slice(4, generation.indexOf("_", 4)));
}

/**
 * A new generation id: `gen_<shard>_<26 characters>`.
 * @param random at least 17 uniformly random bytes, 130 bits of which are used
 * @param shards how many shards the platform has, 1 to 1,000
 * @throws TypeError when either is out of range
 */
export function createGenerationId(random: Uint8Array, shards: number): GenerationId {
  assertShard(shards - 1);
  const suffix = toBase32(random);
  return `gen_${fnv1a(suffix) % shards}_${suffix}` as GenerationId;
}

/**
 * Derives an id from an idempotency key: the same tenant and key always give the same generation, while the number of shards stays the same. After a change of
 * that number a key used before it gives a new generation.
 * @param sha256 of a text's UTF-8, 32 bytes: Web Crypto's would take a thread and a turn of the event loop for each create
 */
export function deriveGenerationId(
  tenant: TenantId,
  idempotencyKey: string,
  shards: number,
  sha256: (text: string) => Uint8Array,
): GenerationId {
  return createGenerationId(sha256(`${tenant}\n${idempotencyKey}`), shards);
}

/**
 * The first 130 bits as 26 characters of `0-9 a-v`.
 * @throws TypeError for less than 17 bytes
 */
export function toBase32(bytes: Uint8Array): string {
  if (bytes.length < 17) throw new TypeError(`an id needs 17 random bytes, got ${bytes.length}`);
  let text = "";
  let bits = 0;
  let value = 0;
  for (let i = 0; text.length < ID_CHARS;) {
    if (bits < 5) {
      // An id takes 17 bytes at most, and there are as many.
      value = ((value << 8) | bytes[i++]!) & 0xffff;
      bits += 8;
    }
    bits -= 5;
    text += BASE32[(value >>> bits) & 31];
  }
  return text;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
