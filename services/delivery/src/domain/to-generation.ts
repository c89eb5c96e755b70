import {
  encodeCursor,
  type Generation,
  type GenerationId,
  type RequestedEvent,
  type Transcript,
} from "@reprise/protocol";

/** What the API says of a generation, given its request and what its log says so far. */
export function toGeneration(
  id: GenerationId,
  requested: RequestedEvent,
  transcript: Transcript,
): Generation {
  const { request, created_at } = requested;
  return {
    id,
    object: "generation",
    status: transcript.status,
    model: request.model,
    text: transcript.text,
    usage: transcript.usage,
    error: transcript.failure ?? null,
    finish_reason: transcript.finishReason ?? null,
    tool_calls: transcript.pendingCalls.map(({ type: _type, ...call }) => call),
    cursor: encodeCursor(transcript.cursor),
    created_at,
    metadata: request.metadata ?? {},
  };
}
