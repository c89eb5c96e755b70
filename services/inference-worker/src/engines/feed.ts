import { inputBytes, type InputRecord, type Seq } from "@reprise/protocol";

type Entry = Pick<InputRecord, "seq" | "entry">;

/** Input after which an engine that says nothing is said to have consumed it, so that its client may send more. */
const REPORT_BYTES = 65_536;

/** Hands input to something that does not say how far it has used it: what it has taken counts as consumed. */
export class Feed {
  readonly #send: (record: Entry) => Promise<boolean>;
  #consumed: Seq | undefined;
  #unreported = 0;
  #hasFailed = false;
  #moved!: PromiseWithResolvers<undefined>;

  /** @param send resolves when the record is taken; with false if no more is taken */
  constructor(send: (record: Entry) => Promise<boolean>) {
    this.#send = send;
    this.#expectMove();
  }

  /** Resolves when much input was taken since `takeConsumed`; rejects with an error of the input. */
  get moved(): Promise<undefined> {
    return this.#moved.promise;
  }

  /** Returns the last entry that was taken, if any was since the last call. */
  takeConsumed(): Seq | undefined {
    const consumed = this.#consumed;
    this.#consumed = undefined;
    this.#unreported = 0;
    if (!this.#hasFailed) this.#expectMove();
    return consumed;
  }

  /** Never rejects. */
  async run(input: AsyncIterable<Entry>): Promise<void> {
    try {
      for await (const record of input) {
        if (!(await this.#send(record))) return;
        this.#consumed = record.seq;
        this.#unreported += inputBytes(record.entry);
        if (this.#unreported >= REPORT_BYTES) this.#moved.resolve(undefined);
      }
    } catch (error) {
      this.#hasFailed = true;
      this.#moved.reject(error);
    }
  }

  #expectMove(): void {
    this.#moved = Promise.withResolvers();
    // It may be rejected while nothing waits for it.
    this.#moved.promise.catch(() => {});
  }
}
