import type { Failure, Usage } from "@reprise/protocol/wire";
import type { FinalStatus, ReaderTranscript } from "../transcript/reader-transcript.ts";

/** The end of a generation, for any status. */
export interface GenerationOutcome {
  readonly status: FinalStatus;
  /** Same as `GenerationStream.text`. If the generation failed or was cancelled: the text up to then. */
  readonly text: string;
  readonly usage: Usage;
  readonly cursor: string | undefined;
  /** Why the model stopped; only of one that completed. */
  readonly finishReason: string | undefined;
  /** Only of one that failed. */
  readonly error: Failure | undefined;
}

/** The outcome that a transcript with a terminal event tells. */
export function toOutcome(transcript: ReaderTranscript, cursor: string | undefined): GenerationOutcome {
  const { text, usage, finishReason, failure } = transcript;
  const status = transcript.status as FinalStatus;
  return { status, text, usage, cursor, finishReason, error: failure };
}
