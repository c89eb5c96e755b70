import type { Failure, FinishReason, KnownEvent, UnknownEvent, Usage } from "./event.ts";
import { type Cursor, START } from "./cursor.ts";

export type GenerationStatus =
  | "queued"
  | "in_progress"
  | "awaiting_tool"
  | "completed"
  | "failed"
  | "cancelled";

interface Segment {
  readonly seq: number;
  readonly text: string;
  readonly tokens: number;
}

/**
 * What a log says so far, folded event by event. Deterministic: the same events in the same order give the same transcript
 * everywhere. Events must come in the order of the log; one that was already folded is ignored, and so is seq 0, which says
 * nothing that a reader may see.
 */
export class Transcript {
  status: GenerationStatus = "queued";
  finishReason: FinishReason | undefined;
  failure: Failure | undefined;
  #cursor: Cursor = START;
  #segments: Segment[] = [];
  #text = "";
  #joined = 0;
  #inputTokens: number | null = null;
  #outputTokens = 0;
  #finalUsage: Usage | undefined;

  /** The position of the last event that was folded. */
  get cursor(): Cursor {
    return this.#cursor;
  }

  get attempt(): number {
    return this.#cursor.attempt;
  }

  get ended(): boolean {
    return this.status === "completed" || this.status === "failed" || this.status === "cancelled";
  }

  /** The text of output 0, without what was rewound. */
  get text(): string {
    for (; this.#joined < this.#segments.length; this.#joined++)
      this.#text += this.#segments[this.#joined]!.text;
    return this.#text;
  }

  /** How many tokens `text` holds. */
  get textTokens(): number {
    return this.#segments.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** What the terminal event says; before it, what has been counted so far. Counts what was produced, rewound or not. */
  get usage(): Usage {
    return this.#finalUsage ?? { input_tokens: this.#inputTokens, output_tokens: this.#outputTokens };
  }

  apply(event: KnownEvent | UnknownEvent): void {
    if (event.seq <= this.#cursor.seq) return;
    const known = event as KnownEvent;
    const attempt = known.type === "generation.started" ? known.attempt : this.#cursor.attempt;
    this.#cursor = { attempt, seq: event.seq };
    switch (known.type) {
      case "generation.requested":
        return;
      case "generation.started":
        this.status = "in_progress";
        this.#inputTokens = known.input_tokens ?? this.#inputTokens;
        return;
      case "output.delta":
        this.#outputTokens += known.tokens ?? 1;
        if ((known.output ?? 0) === 0) {
          this.#segments.push({ seq: known.seq, text: known.text, tokens: known.tokens ?? 1 });
        }
        return;
      case "reasoning.delta":
        this.#outputTokens += known.tokens ?? 1;
        return;
      case "output.rewind":
        this.#rewind(known.to_seq);
        return;
      case "generation.completed":
        this.status = "completed";
        this.finishReason = known.finish_reason;
        this.#finalUsage = known.usage;
        return;
      case "generation.failed":
        this.status = "failed";
        this.failure = known.error;
        this.#finalUsage = known.usage;
        return;
      case "generation.cancelled":
        this.status = "cancelled";
        this.#finalUsage = known.usage;
        return;
    }
  }

  #rewind(toSeq: number): void {
    this.#segments = this.#segments.filter((segment) => segment.seq <= toSeq);
    this.#text = "";
    this.#joined = 0;
  }
}
