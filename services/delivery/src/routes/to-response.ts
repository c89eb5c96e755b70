import { type Generation, type GenerationRef, parseCursor, FIRST_SEQ } from "@reprise/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { recordFullResponse } from "../readers/delivery-marks/record-full-response.ts";
import type { RouteContext } from "./context.ts";

/** A generation without what the model says: its text, and its questions to tools. */
export type UnreadGeneration = Omit<Generation, "text" | "tool_calls">;

/**
 * The answer of a call that changes a generation. The role to change it is none to read it: a key that does not have the role `read`, or not any more, learns
 * what became of the generation, and nothing of what it says. One with it has read what it says so far, which is recorded.
 */
export function toResponse(
  context: RouteContext,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { ref, generation }: { ref: GenerationRef; generation: Generation },
): Generation | UnreadGeneration {
  const { authentication } = context;
  if (!authentication.mayStillRead(authentication.principalOf(request))) {
    const { text: _text, tool_calls: _calls, ...unread } = generation;
    return unread;
  }
  recordSnapshot(context, [request, reply], { ref, generation });
  return generation;
}

/** A caller that is answered with a generation has read what it says so far. */
export function recordSnapshot(
  context: RouteContext,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { ref, generation }: { ref: GenerationRef; generation: Generation },
): void {
  const caller = callerOf(request, context.authentication.principalOf(request));
  const { seq: lastSeq } = parseCursor(generation.cursor);
  recordFullResponse(context, reply, { ref, caller, protocol: "snapshot", fromSeq: FIRST_SEQ, lastSeq });
}
