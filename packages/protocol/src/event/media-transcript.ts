import type { OutputBlob } from "./generation.ts";
import { REQUEST_SEQ, type Seq } from "../seq.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { isKnownEvent } from "./known-event.ts";
import { Transcript } from "./transcript.ts";
import { BLOB_CHANNEL } from "./withdrawn-text.ts";

/** With what a model has made beside words, and how far it has consumed its input. The SDK, whose size counts, reads that from events. */
export class MediaTranscript extends Transcript {
  /** Where output that counts says how far input was consumed. */
  #consumed: { readonly seq: Seq; readonly input: Seq }[] = [];

  /** The last entry of the input log that the output takes account of; 0 for none. */
  get consumed(): Seq {
    return this.#consumed.at(-1)?.input ?? REQUEST_SEQ;
  }

  override apply(event: KnownEvent | UnknownEvent): void {
    if (event.seq > this.cursor.seq && isKnownEvent(event)) this.#follow(event);
    super.apply(event);
  }

  #follow(event: KnownEvent): void {
    if (event.type === "output.rewind")
      this.#consumed = this.#consumed.filter(({ seq }) => seq <= event.to_seq);
    if (event.type === "output.delta" && event.consumed !== undefined)
      this.#consumed.push({ seq: event.seq, input: event.consumed });
  }

  /** In the order of the log, without what was rewound or withdrawn. */
  get blobs(): OutputBlob[] {
    return this.beside.flatMap(({ type, ...made }) => {
      if (type !== "output.blob" || this.withdrawn?.replacementOf(made.seq, BLOB_CHANNEL) !== undefined)
        return [];
      // One that comes as it was withdrawn has none.
      return "blob" in made ? (made as OutputBlob) : [];
    });
  }
}
