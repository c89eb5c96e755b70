import type { OutputBlob } from "./generation.ts";
import { BEYOND_LOG, plus, type Seq } from "../seq.ts";
import { ConsumedInput } from "./consumed-input.ts";
import type { KnownEvent, UnknownEvent } from "./event.ts";
import { INTERRUPTED } from "./shapes/output.ts";
import { Transcript } from "./transcript.ts";
import { BLOB_CHANNEL } from "./withdrawn-text.ts";
import { isKnownEvent } from "./known-event.ts";

/** With what a model has made beside words, and how far it has consumed its input. The SDK, whose size counts, reads that from events. */
export class MediaTranscript extends Transcript {
  /** The last interrupt of a reader; undefined without one. */
  interrupt: Extract<KnownEvent, { type: "output.rewind" }> | undefined;
  readonly #consumed = new ConsumedInput();
  /** Bytes of streamed input that were consumed, also by output that was rewound. */
  consumedBytes = 0;

  /** The last entry of the input log that the output takes account of; 0 for none. */
  get consumed(): Seq {
    return this.#consumed.last;
  }

  /** The last event that ends the answer to streamed input before it; 0 for none. */
  get inputTurnSeq(): Seq {
    return this.#consumed.turnSeq;
  }

  /** The last event up to this one at which each call that counts has its answer: a rewind to it leaves no call alone. */
  answeredAt(seq: Seq): Seq {
    const answers = new Map<string, Seq>();
    let place = seq;
    for (const { seq: at, item } of this.segments.list.toReversed()) {
      if (item.type === "tool_result") answers.set(item.call_id, at);
      else if (item.type === "tool_call" && at <= place && (answers.get(item.call_id) ?? BEYOND_LOG) > place)
        place = plus(at, -1);
    }
    return place;
  }

  override apply(event: KnownEvent | UnknownEvent): void {
    if (event.type === "output.delta" && isKnownEvent(event))
      this.consumedBytes = Math.max(this.consumedBytes, event.consumed_bytes ?? 0);
    if (event.seq > this.cursor.seq) this.#consumed.apply(event);
    if (event.type === "output.rewind" && event.reason === INTERRUPTED) this.interrupt = event;
    super.apply(event);
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
