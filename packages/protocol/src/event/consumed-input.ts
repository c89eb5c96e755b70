import { REQUEST_SEQ, type Seq } from "../seq.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { isKnownEvent } from "./known-event.ts";

/** The place in the input log that the output which counts takes account of. */
export class ConsumedInput {
  #places: { readonly seq: Seq; readonly input: Seq }[] = [];

  /** The last entry that is consumed; 0 for none. */
  get last(): Seq {
    return this.#places.at(-1)?.input ?? REQUEST_SEQ;
  }

  /** The event that tells it; 0 for none. */
  get seq(): Seq {
    return this.#places.at(-1)?.seq ?? REQUEST_SEQ;
  }

  /** Takes each event once, in the order of the log. */
  apply(event: KnownEvent | UnknownEvent): void {
    if (!isKnownEvent(event)) return;
    if (event.type === "output.rewind") this.#places = this.#places.filter(({ seq }) => seq <= event.to_seq);
    else if (event.type !== "output.delta") return;
    if (event.consumed !== undefined) this.#places.push({ seq: event.seq, input: event.consumed });
  }
}
