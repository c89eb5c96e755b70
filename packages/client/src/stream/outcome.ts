import type { Failure, GenerationStatus, Transcript, Usage } from "@reprise/protocol/wire";

type FinalStatus = Extract<GenerationStatus, "completed" | "failed" | "cancelled">;

/** How a generation ended, whichever way. */
export interface GenerationOutcome {
  readonly status: FinalStatus;
  /** As `GenerationStream.text`. Of a generation that failed or was cancelled: as far as it came. */
  readonly text: string;
  readonly usage: Usage;
  readonly cursor: string | undefined;
  /** Why the model stopped; only of one that completed. */
  readonly finishReason: string | undefined;
  /** Only of one that failed. */
  readonly error: Failure | undefined;
}

export function isFinal(status: GenerationStatus): status is FinalStatus {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The outcome that a transcript with a terminal event tells. */
export function toOutcome(transcript: Transcript, cursor: string | undefined): GenerationOutcome {
  const { text, usage, finishReason, failure } = transcript;
  const status = transcript.status as FinalStatus;
  return { status, text, usage, cursor, finishReason, error: failure };
}
