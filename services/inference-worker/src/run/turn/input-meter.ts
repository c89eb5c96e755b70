import {
  estimateInputTokens,
  type EventDraft,
  inputBytes,
  type InputFormat,
  type InputRecord,
  type Seq,
} from "@reprise/protocol";
import type { EndDraft } from "../../domain/after-turn.ts";
import type { RunBudget } from "../run-budget.ts";

interface InputMeterOptions {
  readonly format: InputFormat;
  /** Bytes that were consumed before this run, by its log. */
  readonly consumedBytes: number;
  readonly budget: Pick<RunBudget, "estimated"> | undefined;
}

/** Measures the streamed input that a run's engine takes: engines count none of it. */
export class InputMeter {
  readonly #options: InputMeterOptions;
  #bytes: number;
  /** Records that no output takes account of yet, and the bytes up to their ends. */
  #passed: { readonly seq: Seq; readonly bytes: number }[] = [];

  constructor(options: InputMeterOptions) {
    this.#options = options;
    this.#bytes = 0;
    this.#take(options.consumedBytes);
  }

  /** Hands records on to the engine. */
  async *pass(records: AsyncIterable<InputRecord>): AsyncGenerator<InputRecord> {
    this.#passed = [];
    for await (const record of records) {
      const bytes = record.at + inputBytes(record.entry);
      this.#passed.push({ seq: record.seq, bytes });
      this.#take(bytes);
      yield record;
    }
  }

  /** Returns a delta with the bytes that it takes account of, which another process counts if it ends the generation. */
  mark(draft: EventDraft): EventDraft {
    if (draft.type !== "output.delta" || draft.consumed === undefined) return draft;
    const { consumed } = draft;
    const done = this.#passed.findLastIndex(({ seq }) => seq <= consumed);
    const last = this.#passed.splice(0, done + 1).at(-1);
    return last ? { ...draft, consumed_bytes: last.bytes } : draft;
  }

  /** Returns the end with an estimate of what the engine was given, unless the engine has counted it. */
  count(end: EndDraft): EndDraft {
    const { usage } = end;
    if (usage.input_tokens !== null || this.#bytes === 0) return end;
    const tokens = this.#tokens;
    return { ...end, usage: { ...usage, input_tokens: tokens, estimated_input_tokens: tokens } };
  }

  get #tokens(): number {
    const { format } = this.#options;
    return estimateInputTokens({ input: [], input_stream: { format } }, {}, this.#bytes);
  }

  #take(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#bytes = bytes;
    this.#options.budget?.estimated(this.#tokens);
  }
}
