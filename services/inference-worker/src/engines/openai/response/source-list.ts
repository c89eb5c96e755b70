import type { AnnotationEvent } from "../../engine.ts";
import type { ChatChunk, UnsupportedPart } from "./chat-chunk.ts";

const MAX_SOURCES = 256;
/** In UTF-16 code units, of all sources of one answer. */
const MAX_LENGTH = 65_536;

/** Collects the sources of one answer, up to a limit: more are left out. */
export class SourceList {
  readonly #onLeftOut: ((part: UnsupportedPart) => void) | undefined;
  readonly #annotations: AnnotationEvent[] = [];
  #ofWhole: readonly AnnotationEvent[] = [];
  #length = 0;

  constructor(onLeftOut: ((part: UnsupportedPart) => void) | undefined) {
    this.#onLeftOut = onLeftOut;
  }

  take({ annotations, sources }: Pick<ChatChunk, "annotations" | "sources">): void {
    for (const annotation of annotations) this.#add(annotation);
    this.#ofWhole = sources ?? this.#ofWhole;
  }

  /** Those of the answer as a whole come last, as they were told last. */
  finish(): readonly AnnotationEvent[] {
    for (const source of this.#ofWhole) this.#add(source);
    return this.#annotations;
  }

  #add(annotation: AnnotationEvent): void {
    const { url = "", title = "", file = "", name = "", quote = "" } = annotation;
    const length = this.#length + url.length + title.length + file.length + name.length + quote.length;
    if (this.#annotations.length === MAX_SOURCES || length > MAX_LENGTH)
      return this.#onLeftOut?.("annotations");
    this.#length = length;
    this.#annotations.push(annotation);
  }
}
