import { FrameBuffer } from "@reprise/stream";
import { type RepriseError, toRepriseError, REQUEST_SEQ, type Seq } from "@reprise/protocol";
import { type Replay, unfinished } from "../../archive-fallback/replay.ts";
import { nativeSseFraming } from "./native-sse-framing.ts";
import { MAX_WRITE_BYTES, SseStream, type SseStreamOptions, type StreamEndReason } from "./sse-stream.ts";

export interface ArchiveStreamOptions extends SseStreamOptions {
  readonly replay: Replay;
}

/**
 * One reader of the archive. It writes a page as the bytes that readers of the live log get, and requests the next page when the socket has taken the last.
 * The stream ends cleanly only after the generation's end; any other end is an error in band, and the connection is broken off.
 */
export class ArchiveStream extends SseStream {
  readonly #replay: Replay;
  /** Resolved when the socket has room again, or is closed; undefined while nothing waits for that. */
  #room: PromiseWithResolvers<void> | undefined;

  constructor(options: ArchiveStreamOptions) {
    super(options);
    this.#replay = options.replay;
  }

  /** Sends everything to the end. Resolves when the connection is done with; never rejects. */
  async run(): Promise<void> {
    try {
      await this.#sendAll();
    } catch (thrown) {
      const error = toRepriseError(thrown);
      this.fail(error, error.retryAfterMs);
    }
  }

  protected override onRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  protected override close(reason: StreamEndReason, error?: RepriseError): boolean {
    if (!super.close(reason, error)) return false;
    this.onRoom();
    return true;
  }

  async #sendAll(): Promise<void> {
    while (await this.#hasRoom()) {
      const page = new FrameBuffer(nativeSseFraming, REQUEST_SEQ);
      for (const { cursor, payload } of await this.#replay.next()) page.append(cursor, payload);
      if (page.nextSeq === 0) {
        if (!(await this.#replay.hasEnded())) throw unfinished();
        if (!this.isClosed) this.end();
        return;
      }
      await this.#send(page);
    }
  }

  /** @param page counted from 0 */
  async #send(page: FrameBuffer): Promise<void> {
    for (let at: Seq = REQUEST_SEQ; await this.#hasRoom();) {
      const view = page.view(at, MAX_WRITE_BYTES);
      if (!view) return;
      this.writeFrames(view.bytes, view.next - at);
      at = view.next;
    }
  }

  /** Waits until the socket has room. @returns false when the stream is closed */
  async #hasRoom(): Promise<boolean> {
    if (this.isFull && !this.isClosed) await (this.#room ??= Promise.withResolvers()).promise;
    return !this.isClosed;
  }
}
