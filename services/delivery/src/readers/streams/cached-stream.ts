import type { GenerationCache, Hub } from "@reprise/stream";
import { Sketch } from "@reprise/facts";
import type { RepriseError, Seq, UnixMs } from "@reprise/protocol";
import type { Position } from "../position.ts";
import { Smoothing } from "./smoothing.ts";
import { SseStream, type SseStreamOptions, type StreamEndReason } from "./sse-stream.ts";

export interface CachedStreamOptions extends SseStreamOptions {
  readonly hub: Pick<Hub, "readHistory">;
  readonly cache: GenerationCache;
  /** The first event to send. */
  readonly nextSeq: Seq;
  /** Called for a sample of the events that are stored from now on, with when the broker has stored it, by its clock. */
  readonly onDelivered?: ((storedAtMs: UnixMs) => void) | undefined;
  /** True if the reader has come before the log's first output, even if that was stored while its stream was opened. Default: by whether the log has output. */
  readonly awaitsOutput?: boolean | undefined;
  /** Called once, when the log's first output event was written to a reader that has come before it. */
  readonly onFirstOutput?: (() => void) | undefined;
}

/**
 * Base of the streams from the hub's memory, for any encoding of the events. It has a position that advances as fast as the socket accepts data, at most once
 * per interval if the policy asks for smoothing, and measures this. Nothing is buffered for a reader: while its socket is full the position does not move. A
 * subclass decides what to send.
 */
export abstract class CachedStream extends SseStream implements Position {
  readonly #options: CachedStreamOptions;
  readonly #stopListening: () => void;
  readonly #smoothing: Smoothing | undefined;
  #nextSeq: Seq;
  /** The first event of what was handed to the socket last. */
  #handedSeq: Seq;
  #awaitsOutput: boolean;
  #firstSentAtMs: number | undefined;
  /** The newest event when the stream was opened, and when a later event was last written. */
  readonly #openedSeq: Seq;
  #newWrittenAtMs: number | undefined;
  #gaps: Sketch | undefined;
  /** The newest event that was sampled, or was there when the stream was opened; and whether it is still to be sent. */
  #sampledSeq: Seq;
  #sampledAtMs: UnixMs | undefined;

  constructor(options: CachedStreamOptions) {
    super(options);
    this.#options = options;
    this.#nextSeq = options.nextSeq;
    this.#handedSeq = options.nextSeq;
    this.#awaitsOutput = options.awaitsOutput ?? !options.cache.figures.hasOutput;
    this.#openedSeq = options.cache.lastSeq;
    this.#sampledSeq = options.cache.lastSeq;
    const intervalMs = options.cache.policy?.delivery.min_interval_ms ?? 0;
    const pump = () => this.pump();
    if (intervalMs > 0) this.#smoothing = new Smoothing(intervalMs, pump);
    this.#stopListening = options.cache.listen(this.#smoothing?.onProgress ?? pump);
  }

  /** The last event that the connection has taken: what was handed to a socket that is full is not. */
  get takenSeq(): Seq {
    return ((this.isFull ? this.#handedSeq : this.#nextSeq) - 1) as Seq;
  }

  /** The last event that was handed to the socket, taken or not. */
  get sentSeq(): Seq {
    return (this.#nextSeq - 1) as Seq;
  }

  /** The reader's position, as presence announces it. */
  get present(): Pick<Position, "takenSeq"> {
    return this;
  }

  get firstSentAtMs(): number | undefined {
    return this.#firstSentAtMs;
  }

  get gaps(): Sketch | undefined {
    return this.#gaps;
  }

  /** Sends what there is, and from then on what comes. */
  start(): void {
    this.pump();
  }

  /** The next event to send. */
  protected get nextSeq(): Seq {
    return this.#nextSeq;
  }

  /** True if no events will follow. */
  protected abstract get isOver(): boolean;

  /** Sends what there is, as far as the socket takes it. */
  protected abstract send(): void;

  protected override onRoom(): void {
    this.pump();
  }

  protected override close(reason: StreamEndReason, error?: RepriseError): boolean {
    if (!super.close(reason, error)) return false;
    this.#stopListening();
    this.#smoothing?.stop();
    return true;
  }

  protected pump(): void {
    const { cache, socket } = this.#options;
    // A reader that is slow keeps the oldest sample that it was not sent.
    if (this.#sampledAtMs === undefined && cache.figures.sample.seq > this.#sampledSeq) {
      this.#sampledSeq = cache.figures.sample.seq;
      this.#sampledAtMs = cache.figures.sample.storedAtMs;
    }
    // A reader that is slow, or does not read at all, does not get what was erased.
    if (cache.failure?.code === "generation_erased") this.fail(cache.failure);
    // The last frames leave together with the end of the response.
    else if (this.isOver) socket.together(() => this.send());
    else this.send();
  }

  /** @param next the first event of which the bytes do not hold everything */
  protected write(bytes: Buffer, next: Seq): void {
    this.#handedSeq = this.#nextSeq;
    this.#nextSeq = next;
    const writtenAtMs = this.writeFrames(bytes, next - this.#handedSeq);
    if (this.#handedSeq > this.#openedSeq) this.#measureGap(writtenAtMs);
    if (this.#awaitsOutput) this.#checkFirstOutput(writtenAtMs);
    if (this.#sampledAtMs !== undefined && this.#sampledSeq < next) {
      this.#options.onDelivered?.(this.#sampledAtMs);
      this.#sampledAtMs = undefined;
    }
  }

  #measureGap(writtenAtMs: number): void {
    if (this.#newWrittenAtMs !== undefined)
      (this.#gaps ??= new Sketch()).add(Math.round((writtenAtMs - this.#newWrittenAtMs) * 1_000));
    this.#newWrittenAtMs = writtenAtMs;
  }

  #checkFirstOutput(writtenAtMs: number): void {
    const { cache, onFirstOutput } = this.#options;
    if (cache.figures.firstOutputSeq > this.sentSeq) return;
    this.#awaitsOutput = false;
    this.#firstSentAtMs = writtenAtMs;
    onFirstOutput?.();
  }
}
