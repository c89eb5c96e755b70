import type { CallCount } from "./tool-calls.ts";
import {
  isDelta,
  isKnownEvent,
  type KnownEvent,
  MediaTranscript,
  type UnknownEvent,
  type Seq,
} from "@reprise/protocol";

const UNFIT: ReadonlySet<string> = new Set([
  "refusal.delta",
  "reasoning.summary.delta",
  "reasoning.sealed",
  "output.blob",
]);

/** What a log says to the worker that goes on with it: beside what readers are told, what the model has reasoned, and how tokens were counted. */
export class RunTranscript extends MediaTranscript {
  /** Of reasoning that counts: where it came, and how many tokens it is. */
  #reasoning: { readonly seq: Seq; readonly tokens: number }[] = [];
  /** Where something came that counts, and behind which no engine goes on, beside reasoning. */
  #unfit: Seq[] = [];
  /** What the calls that were made say of their turns. */
  readonly #callCounts = new Map<string, CallCount>();
  /** The last delta that had the engine's own count. */
  #countedSeq = 0;

  /** Whether the model has said anything to itself since the last tool's answer, which was not rewound. */
  get turnReasoned(): boolean {
    return (this.#reasoning.at(-1)?.seq ?? 0) > this.turnSeq;
  }

  /** Whether the turn has something in it that no engine can be given back to go on behind: what was reasoned, shown or summed up or sealed, a refusal, and what was made beside words. */
  get turnUnfit(): boolean {
    return this.turnReasoned || (this.#unfit.at(-1) ?? 0) > this.turnSeq;
  }

  /** Whether the engine itself has counted the tokens of what was produced since then. */
  get turnCounted(): boolean {
    return this.#countedSeq > this.turnSeq;
  }

  /** The texts of output 0 since the last tool's answer, event by event; undefined where moderation has withdrawn anything, and they may be others. */
  get turnTexts(): { readonly seq: Seq; readonly text: string }[] | undefined {
    if (this.withdrawn?.isEmpty === false) return undefined;
    const { turnSeq } = this;
    return this.segments.list.flatMap(({ seq, item }) =>
      item.type === "text" && seq > turnSeq ? [{ seq, text: item.text }] : [],
    );
  }

  /** How many tokens of the refusal count: were not rewound. */
  get refusalTokens(): number {
    return this.refusals.list.reduce((sum, { item }) => sum + (item.type === "text" ? item.tokens : 0), 0);
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
      this.#unfit = this.#unfit.filter((seq) => seq <= toSeq);
      this.#reasoning = this.#reasoning.filter(({ seq }) => seq <= toSeq);
    }
    if (event.type === "tool.call") {
      const { tokens, reasoning_tokens } = event;
      this.#callCounts.set(event.call_id, {
        ...(tokens !== undefined && { tokens }),
        ...(reasoning_tokens !== undefined && { reasoning_tokens }),
      });
    }
    if (UNFIT.has(event.type)) this.#unfit.push(event.seq);
    if (event.type === "reasoning.summary.delta") {
      if (event.tokens) this.#reasoning.push({ seq: event.seq, tokens: event.tokens });
      return;
    }
    if (!isDelta(event)) return;
    if (event.input_tokens !== undefined) this.#countedSeq = event.seq;
    if (event.type === "reasoning.delta") this.#reasoning.push({ seq: event.seq, tokens: event.tokens ?? 1 });
  }
}
