import type { OutputBlob } from "./generation.ts";
import { Transcript } from "./transcript.ts";
import { BLOB_CHANNEL } from "./withdrawn-text.ts";

/** With what a model has made beside words. The SDK, whose size counts, reads that from events. */
export class MediaTranscript extends Transcript {
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
