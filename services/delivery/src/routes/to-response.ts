import type { ReaderRegistry } from "../readers/reader-registry.ts";
import type { Authentication } from "../http/auth.ts";
import { type Generation, type GenerationRef, parseCursor, FIRST_SEQ } from "@reprise/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { recordFullResponse } from "../readers/delivery-marks/record-full-response.ts";

export interface ResponsePorts {
  readonly authentication: Authentication;
  readonly readers: ReaderRegistry;
}

/** Fields of a generation that the model produces. */
const SAID = [
  "text",
  "partial",
  "refusal",
  "annotations",
  "blobs",
  "tool_calls",
] as const satisfies readonly (keyof Generation)[];

/** A generation without that. */
export type UnreadGeneration = Omit<Generation, (typeof SAID)[number]>;

/**
 * The answer of a call that changes a generation. The role to change it is none to read it: a key that does not have the role `read`, or not any more, learns
 * what became of the generation, and nothing of what it says. One with it has read what it says so far, which is recorded.
 */
export function toResponse(
  context: ResponsePorts,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { ref, generation }: { ref: GenerationRef; generation: Generation },
): Generation | UnreadGeneration {
  const { authentication } = context;
  if (!authentication.mayStillRead(authentication.principalOf(request))) {
    const unread: Partial<Generation> = { ...generation };
    for (const name of SAID) delete unread[name];
    return unread as UnreadGeneration;
  }
  recordSnapshot(context, [request, reply], { ref, generation });
  return generation;
}

/** A caller that is answered with a generation has read what it says so far. */
export function recordSnapshot(
  context: ResponsePorts,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { ref, generation }: { ref: GenerationRef; generation: Generation },
): void {
  const caller = callerOf(request, context.authentication.principalOf(request));
  const { seq: lastSeq } = parseCursor(generation.cursor);
  recordFullResponse(context, reply, { ref, caller, protocol: "snapshot", fromSeq: FIRST_SEQ, lastSeq });
}
