import type { CallCount } from "./tool-calls.ts";
import { isKnownEvent, type KnownEvent, Transcript, type UnknownEvent, type Seq } from "@reprise/protocol";

/** What a log says to the worker that goes on with it: beside what readers are told, what the model has reasoned, and how tokens were counted. */
export class RunTranscript extends Transcript {
  /** Of reasoning that counts: where it came, and how many tokens it is. */
  #reasoning: { readonly seq: Seq; readonly tokens: number }[] = [];
  /** What the calls that were made say of their turns. */
  readonly #callCounts = new Map<string, CallCount>();
  /** The last delta that had the engine's own count. */
  #countedSeq = 0;

  /** Whether the model has said anything to itself since the last tool's answer, which was not rewound. */
  get turnReasoned(): boolean {
    return (this.#reasoning.at(-1)?.seq ?? 0) > this.turnSeq;
  }

  /** Whether the engine itself has counted the tokens of what was produced since then. */
  get turnCounted(): boolean {
    return this.#countedSeq > this.turnSeq;
  }

  /** How many tokens of reasoning count: were not rewound. */
  get reasoningTokens(): number {
    return this.#reasoning.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** What the call with this id says of its turn. */
  callCount(callId: string): CallCount {
    return this.#callCounts.get(callId) ?? {};
  }

  override apply(event: KnownEvent | UnknownEvent): void {
    if (event.seq > this.cursor.seq && isKnownEvent(event)) this.#follow(event);
    super.apply(event);
  }

  #follow(event: KnownEvent): void {
    if (event.type === "output.rewind") {
      const { to_seq: toSeq } = event;
      this.#countedSeq = Math.min(this.#countedSeq, toSeq);
      this.#reasoning = this.#reasoning.filter(({ seq }) => seq <= toSeq);
    }
    if (event.type === "tool.call") {
      const { tokens, reasoning_tokens } = event;
      this.#callCounts.set(event.call_id, {
        ...(tokens !== undefined && { tokens }),
        ...(reasoning_tokens !== undefined && { reasoning_tokens }),
      });
    }
    if (event.type !== "output.delta" && event.type !== "reasoning.delta") return;
    if (event.input_tokens !== undefined) this.#countedSeq = event.seq;
    if (event.type === "reasoning.delta") this.#reasoning.push({ seq: event.seq, tokens: event.tokens ?? 1 });
  }
}
