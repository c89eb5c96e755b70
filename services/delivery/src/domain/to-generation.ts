import {
  encodeCursor,
  type Generation,
  type GenerationId,
  type GenerationRequest,
  type RequestedEvent,
  type Transcript,
} from "@reprise/protocol";

/**
 * What the API says of a generation, given its request and what its log says so far.
 * @param shown what of that readers may be shown. Default: all
 */
export function toGeneration(
  id: GenerationId,
  requested: Pick<RequestedEvent, "created_at"> & {
    readonly request: Pick<GenerationRequest, "model" | "metadata">;
  },
  transcript: Transcript,
  shown = transcript,
): Generation {
  const { request, created_at } = requested;
  const { refusal, annotations } = shown;
  return {
    id,
    object: "generation",
    status: transcript.status,
    model: request.model,
    text: shown.text,
    ...(refusal !== "" && { refusal }),
    ...(annotations.length > 0 && { annotations }),
    usage: transcript.usage,
    error: transcript.failure ?? null,
    finish_reason: transcript.finishReason ?? null,
    tool_calls: shown.pendingCalls.map(({ type: _type, ...call }) => call),
    reviews: [...transcript.reviews.values()].map(({ review_id, expires_at }) => ({
      id: `${id}.${review_id}`,
      expires_at,
    })),
    settled: transcript.ended && transcript.reviews.size === 0 && shown.cursor.seq === transcript.cursor.seq,
    cursor: encodeCursor(shown.cursor),
    created_at,
    metadata: request.metadata ?? {},
  };
}
