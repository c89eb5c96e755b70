import { REQUEST_SEQ, type Seq } from "../seq.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { isKnownEvent } from "./known-event.ts";

/** The place in the input log that the output which counts takes account of. */
export class ConsumedInput {
  readonly #places: { readonly seq: Seq; readonly input: Seq; readonly endsTurn: boolean }[] = [];

  /** The last entry that is consumed; 0 for none. */
  get last(): Seq {
    return this.#places.at(-1)?.input ?? REQUEST_SEQ;
  }

  /** The last event that ends the answer to what is consumed: an interrupt, or the end of an item. 0 for none. */
  get turnSeq(): Seq {
    return this.#places.findLast(({ endsTurn }) => endsTurn)?.seq ?? REQUEST_SEQ;
  }

  /** Takes each event once, in the order of the log. */
  apply(event: KnownEvent | UnknownEvent): void {
    if (!isKnownEvent(event)) return;
    if (event.type === "output.rewind")
      while ((this.#places.at(-1)?.seq ?? 0) > event.to_seq) this.#places.pop();
    else if (event.type !== "output.delta") return;
    const { seq, consumed: input } = event;
    const endsTurn = event.type === "output.rewind" || event.item !== undefined;
    if (input !== undefined) this.#places.push({ seq, input, endsTurn });
  }
}
