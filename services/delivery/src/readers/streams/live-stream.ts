import { FrameBuffer } from "@reprise/stream";
import { RepriseError, toRepriseError } from "@reprise/protocol";
import { CachedStream, type CachedStreamOptions } from "./cached-stream.ts";
import { nativeSseFraming } from "./native-sse-framing.ts";
import { MAX_WRITE_BYTES } from "./sse-stream.ts";

/** Error for readers under `fail_closed` when moderation is unavailable. They retry after a pause, since the state does not change at once. */
export const UNJUDGED_RETRY_MS = 1_000;
export const UNJUDGED = new RepriseError(
  "moderation_unavailable",
  "Moderation is unavailable. No events were lost; retry.",
);

/**
 * One reader of a live log: a position in a cache, moved on as fast as the socket takes it. If the hub has let go of events that a slow
 * reader has not been sent, they are read from the log, one small batch at a time, until the reader is back in the range that the hub
 * holds. It never passes what the cache may show: a reader waits for moderation as it does for events.
 */
export class LiveStream extends CachedStream {
  readonly #options: CachedStreamOptions;
  #isReadingHistory = false;
  /** True if the events sent last came from the log, not from the hub's memory. */
  #isBehind = false;

  constructor(options: CachedStreamOptions) {
    super(options);
    this.#options = options;
  }

  protected override get isOver(): boolean {
    return this.#options.cache.isOver;
  }

  protected override send(): void {
    const { cache } = this.#options;
    while (!this.isFull && !this.isClosed && !this.#isReadingHistory) {
      const view = cache.shown.view(this.nextSeq, MAX_WRITE_BYTES);
      if (view) {
        this.#isBehind = false;
        this.write(view.bytes, view.next);
      } else if (cache.failure) this.fail(cache.failure);
      else if (this.nextSeq <= cache.shownSeq) void this.#sendHistory();
      else if (cache.isOver) return this.end();
      else if (cache.shown.visibility?.isUnavailable) this.fail(UNJUDGED, UNJUDGED_RETRY_MS);
      else return;
    }
  }

  /** Sends one batch of events that the hub has evicted, and continues from the hub's memory if it can. */
  async #sendHistory(): Promise<void> {
    const { hub, cache, counts } = this.#options;
    this.#isReadingHistory = true;
    if (!this.#isBehind) counts.fallenBack++;
    this.#isBehind = true;
    try {
      const payloads = await hub.readHistory(cache, this.nextSeq);
      const batch = new FrameBuffer(nativeSseFraming, this.nextSeq);
      for (const payload of payloads) batch.append(cache.events.cursorAt(batch.nextSeq), payload);
      let view = batch.view(this.nextSeq, MAX_WRITE_BYTES);
      for (; view && !this.isClosed; view = batch.view(this.nextSeq, MAX_WRITE_BYTES))
        this.write(view.bytes, view.next);
    } catch (error) {
      this.fail(toRepriseError(error));
    }
    this.#isReadingHistory = false;
    this.pump();
  }
}
