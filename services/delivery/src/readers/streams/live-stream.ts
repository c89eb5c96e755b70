import { FrameBuffer, type GenerationCache, type Hub } from "@reprise/log";
import { Sketch } from "@reprise/metering";
import { RepriseError, toRepriseError, type Seq, type UnixMs } from "@reprise/protocol";
import type { Position } from "../position.ts";
import { httpSseFraming } from "./http-sse-framing.ts";
import { Smoothing } from "./smoothing.ts";
import { MAX_WRITE_BYTES, SseStream, type SseStreamOptions, type StreamEndReason } from "./sse-stream.ts";

export interface LiveStreamOptions extends SseStreamOptions {
  readonly hub: Pick<Hub, "readHistory">;
  readonly cache: GenerationCache;
  /** The first event to send. */
  readonly nextSeq: Seq;
  /** Called for a sample of the events that are stored from now on, with when the broker has stored it, by its clock. */
  readonly onDelivered?: ((storedAtMs: UnixMs) => void) | undefined;
  /** Called once, when the log's first output event was written, unless the log had it when the stream was opened. */
  readonly onFirstOutput?: (() => void) | undefined;
}

/** What readers are told under `fail_closed` when moderation is unavailable: they come back after a pause, since the state does not change at once. */
const UNJUDGED_RETRY_MS = 1_000;
const UNJUDGED = new RepriseError(
  "moderation_unavailable",
  "Moderation is unavailable. No events were lost; retry.",
);

/**
 * One reader of a live log: a position in a cache, moved on as fast as the socket takes it. Nothing is buffered for a reader: while its
 * socket is full the position stays where it is, and if the hub has meanwhile let go of those events, they are read from the
 * log, one small batch at a time, until the reader is back in the range that the hub holds. Where the policy asks for smoothing,
 * the position moves at most once per interval, and then over everything that is there. It never passes what the cache may show: a
 * reader waits for moderation as it does for events.
 */
export class LiveStream extends SseStream implements Position {
  readonly #options: LiveStreamOptions;
  readonly #stopListening: () => void;
  readonly #smoothing: Smoothing | undefined;
  #nextSeq: Seq;
  /** The first event of what was handed to the socket last. */
  #handedSeq: Seq;
  #isReadingHistory = false;
  #awaitsOutput: boolean;
  #firstSentAtMs: number | undefined;
  /** The newest event that there was when the stream was opened; and when one behind it was written last. */
  readonly #openedSeq: Seq;
  #newWrittenAtMs: number | undefined;
  #gaps: Sketch | undefined;
  /** The newest event that was sampled, or was there when the stream was opened; and whether it is still to be sent. */
  #sampledSeq: Seq;
  #sampledAtMs: UnixMs | undefined;
  /** Whether what was sent last came from the log, not from the hub's memory. */
  #isBehind = false;

  constructor(options: LiveStreamOptions) {
    super(options);
    this.#options = options;
    this.#nextSeq = options.nextSeq;
    this.#handedSeq = options.nextSeq;
    this.#awaitsOutput = !options.cache.hasOutput;
    this.#openedSeq = options.cache.lastSeq;
    this.#sampledSeq = options.cache.lastSeq;
    const intervalMs = options.cache.policy?.delivery.min_interval_ms ?? 0;
    const pump = () => this.#pump();
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

  get firstSentAtMs(): number | undefined {
    return this.#firstSentAtMs;
  }

  get gaps(): Sketch | undefined {
    return this.#gaps;
  }

  /** Sends what there is, and from then on what comes. */
  start(): void {
    this.#pump();
  }

  protected override onRoom(): void {
    this.#pump();
  }

  protected override close(reason: StreamEndReason, error?: RepriseError): boolean {
    if (!super.close(reason, error)) return false;
    this.#stopListening();
    this.#smoothing?.stop();
    return true;
  }

  #pump(): void {
    const { cache, socket } = this.#options;
    // The last frames leave together with the end of the response.
    if (cache.isOver) socket.together(() => this.#send());
    else this.#send();
  }

  #send(): void {
    const { cache } = this.#options;
    // A reader that is slow keeps the oldest sample that it was not sent.
    if (this.#sampledAtMs === undefined && cache.sample.seq > this.#sampledSeq) {
      this.#sampledSeq = cache.sample.seq;
      this.#sampledAtMs = cache.sample.storedAtMs;
    }
    // A reader that is slow, or does not read at all, does not get what was erased.
    if (cache.failure?.code === "generation_erased") return this.fail(cache.failure);
    while (!this.isFull && !this.isClosed && !this.#isReadingHistory) {
      const view = cache.view(this.#nextSeq, MAX_WRITE_BYTES);
      if (view) {
        this.#isBehind = false;
        this.#write(view);
      } else if (cache.failure) this.fail(cache.failure);
      else if (this.#nextSeq <= cache.shownSeq) void this.#sendHistory();
      else if (cache.isOver) return this.end();
      else if (cache.visibility?.isUnavailable) this.fail(UNJUDGED, UNJUDGED_RETRY_MS);
      else return;
    }
  }

  #write({ bytes, next }: { bytes: Buffer; next: Seq }): void {
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
    if (cache.firstOutputSeq > this.sentSeq) return;
    this.#awaitsOutput = false;
    this.#firstSentAtMs = writtenAtMs;
    onFirstOutput?.();
  }

  /** Sends one batch of events that the hub has let go of, and goes on from the hub's memory if it can. */
  async #sendHistory(): Promise<void> {
    const { hub, cache, counts } = this.#options;
    this.#isReadingHistory = true;
    if (!this.#isBehind) counts.fallenBack++;
    this.#isBehind = true;
    try {
      const payloads = await hub.readHistory(cache, this.#nextSeq);
      const batch = new FrameBuffer(httpSseFraming, this.#nextSeq);
      for (const payload of payloads) batch.append(cache.cursorAt(batch.nextSeq), payload);
      let view = batch.view(this.#nextSeq, MAX_WRITE_BYTES);
      for (; view && !this.isClosed; view = batch.view(this.#nextSeq, MAX_WRITE_BYTES)) this.#write(view);
    } catch (error) {
      this.fail(toRepriseError(error));
    }
    this.#isReadingHistory = false;
    this.#pump();
  }
}
