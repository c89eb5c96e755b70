import { FrameBuffer } from "@reprise/log";
import {
  encodeSseError,
  encodeSseRetry,
  type RepriseError,
  SSE_HEARTBEAT,
  toRepriseError,
} from "@reprise/protocol";
import { httpSseFraming } from "../streaming/http-sse-framing.ts";
import type { ReaderStream } from "../streaming/reader-registry.ts";
import type { ReaderCounts } from "../streaming/sse-stream.ts";
import type { SseSocket } from "../streaming/sse-socket.ts";
import { type Replay, unfinished } from "./replay.ts";

export interface ReplayStreamOptions {
  replay: Replay;
  socket: SseSocket;
  counts: Pick<ReaderCounts, "eventsDelivered">;
  onError: (error: RepriseError) => void;
  onClose: (stream: ReplayStream) => void;
}

const MAX_WRITE_BYTES = 64 * 1_024;

/**
 * One reader of the archive: a page is written as the bytes that readers of the live log get, and the next one is asked for when the
 * socket has taken it. Ends cleanly only behind the generation's end; any other end is an error in band, and the connection is broken off.
 */
export class ReplayStream implements ReaderStream {
  readonly #options: ReplayStreamOptions;
  #closed = false;
  #writtenAt = Date.now();
  /** Resolved when the socket has room again, or is closed; undefined while it has. */
  #room: PromiseWithResolvers<void> | undefined;

  constructor(options: ReplayStreamOptions) {
    this.#options = options;
    options.socket.onDrain(() => this.#hasRoom());
    options.socket.onClose(() => this.#close());
  }

  /** Sends everything to the end. Resolves when the connection is done with; never rejects. */
  async run(): Promise<void> {
    try {
      await this.#sendAll();
    } catch (error) {
      this.#fail(toRepriseError(error));
    }
  }

  /** As `SseStream` has it: between two frames, while the archive takes its time. */
  heartbeat(now: number, everyMs: number): void {
    if (this.#closed || this.#room || now - this.#writtenAt < everyMs) return;
    this.#took(this.#options.socket.writeText(SSE_HEARTBEAT));
  }

  /** Tells the client to come back after a while, to this node or another, and breaks the connection. */
  disconnectWithRetry(retryMs: number): void {
    if (this.#closed) return;
    this.#options.socket.writeText(encodeSseRetry(retryMs));
    this.#options.socket.breakOff();
    this.#close();
  }

  async #sendAll(): Promise<void> {
    const { replay, socket } = this.#options;
    for (;;) {
      await this.#room?.promise;
      if (this.#closed) return;
      const frames = new FrameBuffer(httpSseFraming, 0);
      for (const { cursor, payload } of await replay.next()) frames.append(cursor, payload);
      if (frames.nextSeq === 0) break;
      await this.#send(frames);
    }
    const hasEnded = await replay.hasEnded();
    if (this.#closed) return;
    if (!hasEnded) return this.#fail(unfinished());
    socket.end();
    this.#close();
  }

  /** @param frames counted from 0 */
  async #send(frames: FrameBuffer): Promise<void> {
    const { socket, counts } = this.#options;
    for (let at = 0; at < frames.nextSeq;) {
      await this.#room?.promise;
      if (this.#closed) return;
      const { bytes, next } = frames.view(at, MAX_WRITE_BYTES)!;
      counts.eventsDelivered += next - at;
      at = next;
      this.#took(socket.writeFrames(bytes));
    }
  }

  #took(hasRoom: boolean): void {
    this.#writtenAt = Date.now();
    if (!hasRoom) this.#room ??= Promise.withResolvers();
  }

  #hasRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #fail(error: RepriseError): void {
    if (this.#closed) return;
    const { socket, onError } = this.#options;
    onError(error);
    if (error.retryAfterMs !== undefined) socket.writeText(encodeSseRetry(error.retryAfterMs));
    socket.writeText(encodeSseError(JSON.stringify(error.toBody())));
    socket.breakOff();
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#hasRoom();
    this.#options.onClose(this);
  }
}
