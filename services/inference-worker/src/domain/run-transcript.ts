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

/** The log as seen by a worker that continues it: the readers' view, and also the model's reasoning and the token counts. */
export class RunTranscript extends MediaTranscript {
  /** The reasoning that counts: its place in the log and its tokens. */
  #reasoning: { readonly seq: Seq; readonly tokens: number }[] = [];
  /** The seqs of other output that counts and that no engine can continue. */
  #unfit: Seq[] = [];
  /** The turn's counts, as each tool call reported them. */
  readonly #callCounts = new Map<string, CallCount>();
  /** The last delta that had the engine's own count. */
  #countedSeq = 0;

  /** With streamed input an engine begins a new run after the end of a turn, too. */
  override get turnSeq(): Seq {
    return Math.max(super.turnSeq, this.inputTurnSeq);
  }

  /** True if the model has reasoned since the last tool's answer, and that was not rewound. */
  get turnReasoned(): boolean {
    return (this.#reasoning.at(-1)?.seq ?? 0) > this.turnSeq;
  }

  /** True if the turn holds output that no engine accepts back in order to continue it: reasoning (shown, summarized or sealed), a refusal, or media. */
  get turnUnfit(): boolean {
    return this.turnReasoned || (this.#unfit.at(-1) ?? 0) > this.turnSeq;
  }

  /** True if the engine itself has counted the tokens produced since then. */
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

  /** Tokens of the refusal that were not rewound. */
  get refusalTokens(): number {
    return this.refusals.list.reduce((sum, { item }) => sum + (item.type === "text" ? item.tokens : 0), 0);
  }

  /** Tokens of reasoning that were not rewound. */
  get reasoningTokens(): number {
    return this.#reasoning.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** Returns the turn's counts that the call with this id reported. */
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
