import type { GenerationCache } from "@reprise/stream";
import {
  decodeEvent,
  isErrorCode,
  type KnownEvent,
  plus,
  RepriseError,
  type UnknownEvent,
} from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { SHOULD_RETRY_HEADER } from "../http/header-names.ts";
import { headerOf } from "../http/header-of.ts";
import type { ProjectedCall } from "./projected-call.ts";
import { waitAsReader, type WaitingPorts } from "./wait-as-reader.ts";

/** Default of `headWaitMs`, in milliseconds: common proxies cut a connection that has been silent for 60 s. */
const HEAD_WAIT_MS = 30_000;

export interface FirstContentPorts extends WaitingPorts {
  /** Milliseconds that the head of an answer waits for the first content at most. Default 30 s. */
  readonly headWaitMs?: number | undefined;
}

/**
 * Waits until readers may have the first content of a generation, or its end, so that a failure before it is an answer with an HTTP status: clients retry on
 * that, and take an error in a stream for the end.
 * @throws RepriseError the failure of a generation that failed without content; as `waitAsReader`
 */
export async function waitForContent(
  context: FirstContentPorts,
  reply: FastifyReply,
  cache: GenerationCache,
  call: ProjectedCall,
): Promise<void> {
  const { headWaitMs = HEAD_WAIT_MS } = context;
  const isDue = () => cache.isSettled || cache.settledSeq >= cache.figures.firstOutputSeq;
  if (!isDue()) await waitAsReader(context, reply, cache, { ...call, isDue, waitMs: headWaitMs });
  assertContent(reply, cache);
}

/** Makes the failure of a generation without content the answer. */
export function assertContent(reply: FastifyReply, cache: GenerationCache): void {
  const failure = findFailureWithoutContent(cache);
  if (!failure) return;
  // A call with a key would get this failure again.
  const isKeyed = headerOf(reply.request, "idempotency-key") !== undefined;
  if (isKeyed || !failure.retryable) void reply.header(SHOULD_RETRY_HEADER, "false");
  else void reply.removeHeader(SHOULD_RETRY_HEADER);
  throw failure;
}

/** Finds the failure of a generation that has ended without content. */
export function findFailureWithoutContent(cache: GenerationCache): RepriseError | undefined {
  if (!cache.isSettled || cache.figures.hasOutput) return undefined;
  // A log without content is short. Moderation may have appended after its end.
  for (let seq = cache.lastSeq; ; seq = plus(seq, -1)) {
    const payload = cache.shown.payloadAt(seq);
    const event = payload && decodeEvent(payload);
    if (!event) return undefined;
    if (event.type === "generation.failed") return toError(event);
  }
}

type Failed = Extract<KnownEvent | UnknownEvent, { type: "generation.failed" }>;

function toError({ error: { code, message, retryable } }: Failed): RepriseError {
  return new RepriseError(isErrorCode(code) ? code : "internal", message, { retryable });
}
