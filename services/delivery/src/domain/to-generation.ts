import {
  encodeCursor,
  type Generation,
  type GenerationId,
  type GenerationRequest,
  type JsonValue,
  PartialJson,
  type RequestedEvent,
  type MediaTranscript,
} from "@reprise/protocol";

interface FormedRequest {
  readonly response_format?: Pick<NonNullable<GenerationRequest["response_format"]>, "type"> | undefined;
}

/**
 * Builds a generation from its request and its log so far, in the form that the API returns.
 * @param shown the part that readers may be shown. Default: all
 */
export function toGeneration(
  id: GenerationId,
  requested: Pick<RequestedEvent, "created_at"> & {
    readonly request: Pick<GenerationRequest, "model" | "metadata"> & FormedRequest;
  },
  transcript: MediaTranscript,
  shown = transcript,
): Generation {
  const { request, created_at } = requested;
  const { refusal, annotations, blobs } = shown;
  const isWhole = transcript.ended && shown.cursor.seq === transcript.cursor.seq;
  const partial = isFormed(request) ? toPartial(shown.answer, isWhole) : undefined;
  return {
    id,
    object: "generation",
    status: transcript.status,
    model: request.model,
    text: shown.text,
    ...(refusal !== "" && { refusal }),
    ...(annotations.length > 0 && { annotations }),
    ...(blobs.length > 0 && { blobs }),
    ...(partial !== undefined && { partial }),
    usage: transcript.usage,
    error: transcript.failure ?? null,
    finish_reason: transcript.finishReason ?? null,
    tool_calls: shown.pendingCalls.map(({ type: _type, ...call }) => call),
    reviews: [...transcript.reviews.values()].map(({ review_id, expires_at }) => ({
      id: `${id}.${review_id}`,
      expires_at,
    })),
    settled: isWhole && transcript.reviews.size === 0,
    cursor: encodeCursor(shown.cursor),
    created_at,
    metadata: request.metadata ?? {},
  };
}

function isFormed({ response_format: format }: FormedRequest): boolean {
  return format !== undefined && format.type !== "text";
}

function toPartial(text: string, isWhole: boolean): JsonValue | undefined {
  const parser = new PartialJson();
  parser.push(text);
  if (isWhole) parser.finish();
  return parser.value;
}
