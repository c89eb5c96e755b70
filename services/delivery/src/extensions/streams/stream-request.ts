import { RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";
import { decodeBody, parseJsonBody } from "../../bodies/parse-json-body.ts";
import { headerOf } from "../../http/header-of.ts";
import { type Append, mediaTypeOf } from "./next-record.ts";
import { parseOffset, type Producer, type StreamConfig } from "./stream-record.ts";

/*
 * Headers, query and content of the Durable Streams protocol. All functions throw RepriseError `invalid_request` with the header's or parameter's name; those that
 * take content, `invalid_json` too.
 */

const FORK_HEADERS = ["Stream-Forked-From", "Stream-Fork-Offset", "Stream-Fork-Sub-Offset"];
const MAX_LENGTH = 256;
const TTL = /^(?:0|[1-9][0-9]{0,8})$/;
const WHOLE = /^(?:0|[1-9][0-9]{0,15})$/;
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(?:;.*)?$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;
export const BEGINNING = "-1";
export const NOW = "now";
const DEFAULT_TYPE = "application/octet-stream";
const JSON_TYPE = "application/json";

export function isJson(type: string): boolean {
  return mediaTypeOf(type) === JSON_TYPE;
}

/** The configuration and first content of a stream that is created. */
export function parseCreate(request: FastifyRequest): {
  config: StreamConfig;
  data: Uint8Array;
  isClosed: boolean;
} {
  const ttl = shortHeader(request, "Stream-TTL");
  const expiresAt = shortHeader(request, "Stream-Expires-At");
  for (const name of FORK_HEADERS)
    if (shortHeader(request, name) !== undefined) throw invalid(name, "forks are not offered");
  if (ttl !== undefined && expiresAt !== undefined)
    throw invalid("Stream-TTL", "a stream has this or Stream-Expires-At");
  if (ttl !== undefined && !TTL.test(ttl)) throw invalid("Stream-TTL", "must be a whole number of seconds");
  if (expiresAt !== undefined && !(TIME.test(expiresAt) && Number.isFinite(Date.parse(expiresAt))))
    throw invalid("Stream-Expires-At", "must be a time as in RFC 3339");
  const type = contentType(request) ?? DEFAULT_TYPE;
  const config = {
    type,
    ...(ttl !== undefined && { ttlSeconds: Number(ttl) }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
  return { config, data: contentOf(request, type), isClosed: isClosing(request) };
}

/** Parses an append. */
export function parseAppend(request: FastifyRequest): Append {
  const type = contentType(request);
  const closes = isClosing(request);
  const isEmpty = bodyOf(request).length === 0;
  if (isEmpty && !closes) throw invalid("body", "an append has content, or closes the stream");
  if (!isEmpty && type === undefined) throw invalid("Content-Type", "content needs its type");
  const data = isEmpty || type === undefined ? bodyOf(request) : contentOf(request, type);
  if (!isEmpty && data.length === 0) throw invalid("body", "an append has at least one message");
  return { type, data, order: shortHeader(request, "Stream-Seq"), closes, producer: producerOf(request) };
}

export interface StreamQuery {
  /** The text that was sent; `-1` for the beginning, which is the default. */
  readonly offset: string;
  readonly live: "long-poll" | "sse" | undefined;
  readonly cursor: number | undefined;
}

export function parseQuery({ query }: FastifyRequest): StreamQuery {
  const { offset, live, cursor } = query as Readonly<Record<string, unknown>>;
  if (live !== undefined && live !== "long-poll" && live !== "sse")
    throw invalid("live", "must be long-poll or sse");
  if (live !== undefined && offset === undefined) throw invalid("offset", "a live read needs it");
  if (offset !== undefined && typeof offset !== "string") throw invalid("offset", "must be sent once");
  return {
    offset: typeof offset === "string" ? offset : BEGINNING,
    live,
    cursor: typeof cursor === "string" && WHOLE.test(cursor) ? Number(cursor) : undefined,
  };
}

/** The place that a read of a stream begins after. @throws RepriseError `cursor_invalid` */
export function placeOf({ offset }: StreamQuery): StreamSeq | "now" {
  if (offset === NOW) return offset;
  return offset === BEGINNING ? STREAM_START : parseOffset(offset);
}

function producerOf(request: FastifyRequest): Producer | undefined {
  const [id, epoch, seq] = ["Producer-Id", "Producer-Epoch", "Producer-Seq"].map((name) =>
    shortHeader(request, name),
  );
  if (id === undefined && epoch === undefined && seq === undefined) return undefined;
  if (id === undefined || id === "") throw invalid("Producer-Id", "a producer needs it");
  return { id, epoch: whole("Producer-Epoch", epoch), seq: whole("Producer-Seq", seq) };
}

function whole(name: string, text = ""): number {
  if (WHOLE.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw invalid(name, "must be a whole number up to 2^53-1");
}

function isClosing(request: FastifyRequest): boolean {
  return shortHeader(request, "Stream-Closed")?.toLowerCase() === "true";
}

function contentType(request: FastifyRequest): string | undefined {
  const type = shortHeader(request, "Content-Type");
  if (type === undefined || MEDIA_TYPE.test(type)) return type;
  throw invalid("Content-Type", "must be a media type");
}

/** Headers are stored with each record. */
function shortHeader(request: FastifyRequest, name: string): string | undefined {
  const value = headerOf(request, name.toLowerCase());
  if (value === undefined || value.length <= MAX_LENGTH) return value;
  throw invalid(name, `has ${value.length} characters, and may have ${MAX_LENGTH}`);
}

function bodyOf({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** The messages of JSON are stored as their text, without the brackets of an array that they come in; other content as it is. */
function contentOf(request: FastifyRequest, type: string): Uint8Array {
  const body = bodyOf(request);
  if (body.length === 0 || !isJson(type)) return body;
  const text = decodeBody(body).trim();
  const isArray = Array.isArray(parseJsonBody(text));
  return Buffer.from(isArray ? text.slice(1, -1).trim() : text);
}

function invalid(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}.`, { param });
}
