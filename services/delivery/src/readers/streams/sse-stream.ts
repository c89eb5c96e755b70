import {
  encodeSseError,
  encodeSseRetry,
  type ErrorCode,
  type RepriseError,
  SSE_HEARTBEAT,
  toErrorBody,
  toLineJson,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { ReadingRole } from "../../http/auth.ts";
import type { ReaderCounts, ReaderStream } from "../reader.ts";
import type { SseSocket, SseSocketListener } from "./sse-socket.ts";

/** Why a stream is over: its reader was sent the end, the client has closed, the node drains, or an error has broken it off. */
export type StreamEndReason = "ended" | "left" | "drained" | ErrorCode;

export interface SseStreamOptions {
  readonly socket: SseSocket;
  readonly counts: ReaderCounts;
  readonly principal: Principal;
  /** Role that the stream was opened for. */
  readonly role: ReadingRole;
  /** Called once, when nothing more is sent: the response has ended, or the connection has. With the error that it was broken off for. */
  readonly onClose: (reason: StreamEndReason, error?: RepriseError) => void;
}

/** The most that is handed to a socket at once. What a reader leaves unread is bounded by this and the socket's own buffer. */
export const MAX_WRITE_BYTES = 64 * 1_024;

/**
 * Base of the streams of every source: it sends frames until the socket is full, continues when it has drained, sends heartbeats while idle, and ends so that
 * the client knows whether the generation has ended, too. A subclass supplies the events.
 */
export abstract class SseStream implements ReaderStream, SseSocketListener {
  principal: Principal;
  readonly role: ReadingRole;
  readonly #options: SseStreamOptions;
  #isFull = false;
  #isClosed = false;
  #writtenAtMs = performance.now();

  constructor(options: SseStreamOptions) {
    this.#options = options;
    this.principal = options.principal;
    this.role = options.role;
    options.socket.listen(this);
  }

  drained(): void {
    this.#isFull = false;
    this.onRoom();
  }

  closed(): void {
    this.close("left");
  }

  /** Sends a comment if nothing else was sent for a while, so that proxies and clients know the connection to be alive. */
  heartbeat(nowMs: number, everyMs: number): void {
    if (this.#isFull || this.#isClosed || nowMs - this.#writtenAtMs < everyMs) return;
    this.#writtenAtMs = nowMs;
    this.#isFull = !this.#options.socket.writeText(SSE_HEARTBEAT);
  }

  /** Tells the client to come back after a while, to this node or another, and breaks the connection. */
  disconnectWithRetry(retryMs: number): void {
    if (this.#isClosed) return;
    this.#options.socket.writeText(encodeSseRetry(retryMs));
    this.#options.socket.breakOff();
    this.close("drained");
  }

  /** True if the socket's buffer is full: frames wait for `onRoom`. */
  protected get isFull(): boolean {
    return this.#isFull;
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Called when the socket has drained. */
  protected abstract onRoom(): void;

  /** @returns when that was, in milliseconds of a monotonic clock */
  protected writeFrames(bytes: Buffer, events: number): number {
    this.#options.counts.eventsDelivered += events;
    this.#isFull = !this.#options.socket.writeFrames(bytes);
    return (this.#writtenAtMs = performance.now());
  }

  /** Ends the response cleanly, which says that the generation has ended. */
  protected end(): void {
    this.#options.socket.end();
    this.close("ended");
  }

  /**
   * In band, because the headers are gone; then broken off, because a clean end would say that the generation has ended.
   * @param retryMs tells the client when to come back, where that is not as soon as it can
   */
  fail(error: RepriseError, retryMs?: number): void {
    if (this.#isClosed) return;
    if (retryMs !== undefined) this.#options.socket.writeText(encodeSseRetry(retryMs));
    const told = this.encodeError(error);
    if (told) this.#options.socket.writeText(told);
    this.#options.socket.breakOff();
    this.close(error.code, error);
  }

  /** Encodes an error in band; "" for none. */
  protected encodeError(error: RepriseError): string {
    return encodeSseError(toLineJson(toErrorBody(error)));
  }

  /** @returns whether the stream was open until now */
  protected close(reason: StreamEndReason, error?: RepriseError): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#options.onClose(reason, error);
    return true;
  }
}
