import type { Frame } from "@reprise/projections";
import { plus, RepriseError, type Seq, toRepriseError } from "@reprise/protocol";
import { CachedStream, type CachedStreamOptions } from "../readers/streams/cached-stream.ts";
import { UNJUDGED, UNJUDGED_RETRY_MS } from "../readers/streams/live-stream.ts";
import { MAX_WRITE_BYTES, type StreamEndReason } from "../readers/streams/sse-stream.ts";
import { encodeFrame } from "./encode-frame.ts";
import type { FrameWindow } from "./frame-window.ts";
import type { Advance, ProjectedFrames } from "./projected-frames.ts";
import { PrivatePass } from "./private-pass.ts";

export interface ProjectedStreamOptions extends CachedStreamOptions {
  readonly frames: ProjectedFrames;
  /** The number of the first frame to send. */
  readonly position: number;
  /** Parameter that the position came in, for errors. */
  readonly param: string;
  /** Makes the frames before the kept ones, if the position is among them. */
  readonly pass?: PrivatePass | undefined;
  /** Frames that are sent first and sum up the events before the position. */
  readonly opening?: FrameWindow | undefined;
  /** Returns the frames that tell the client of an error that is not retryable. */
  readonly errorFrames: (error: RepriseError) => readonly Frame[];
}

/**
 * One reader of a projection: the number of a frame, which advances as fast as the socket accepts data. Frames that the node no longer keeps are made for this
 * reader alone. The stream ends cleanly only after the protocol's own end. Errors are reported in the protocol's form; a retryable error only breaks the
 * connection.
 */
export class ProjectedStream extends CachedStream {
  readonly #options: ProjectedStreamOptions;
  readonly #stopListening: () => void;
  #position: number;
  #pass: PrivatePass | undefined;
  #isPassing = false;
  /** True if the frames sent last were made for this reader alone. */
  #isBehind = false;

  constructor(options: ProjectedStreamOptions) {
    super(options);
    this.#options = options;
    this.#position = options.position;
    this.#pass = options.pass;
    this.#stopListening = options.frames.listen((error) => {
      if (error) this.fail(error);
      else this.pump();
    });
  }

  override start(): void {
    const { opening, frames } = this.#options;
    if (opening) this.#writeWindow(opening, 0, plus(frames.seqBefore(this.#position), 1));
    super.start();
  }

  /** Counts shown events that are not settled as taken, so that they do not hold up the model. */
  override get present(): { readonly takenSeq: Seq } {
    const { cache } = this.#options;
    const takenSeq = () => this.takenSeq;
    return {
      get takenSeq() {
        return takenSeq() < cache.settledSeq ? takenSeq() : Math.max(takenSeq(), cache.shownSeq);
      },
    };
  }

  protected override get isOver(): boolean {
    return this.#options.cache.isSettled;
  }

  protected override encodeError(error: RepriseError): string {
    if (error.retryable) return "";
    return this.#options
      .errorFrames(error)
      .map((frame) => encodeFrame(frame))
      .join("");
  }

  protected override close(reason: StreamEndReason, error?: RepriseError): boolean {
    if (!super.close(reason, error)) return false;
    this.#stopListening();
    this.#pass?.stop();
    return true;
  }

  protected override send(): void {
    const { cache, frames } = this.#options;
    while (!this.isFull && !this.isClosed && !this.#isPassing) {
      const view = frames.view(this.#position, MAX_WRITE_BYTES);
      if (view) {
        this.#isBehind = false;
        this.#write(view);
      } else if (cache.failure) this.fail(cache.failure);
      else if (this.#position < frames.first) void this.#sendMissing();
      else {
        const advance = this.#advance();
        if (advance === "busy") return;
        if (advance === "settled") return this.#settled();
      }
    }
  }

  /** An event that the projection can't take breaks its readers, who would wait for ever otherwise. */
  #advance(): Advance {
    try {
      return this.#options.frames.advance();
    } catch (error) {
      this.fail(toRepriseError(error));
      return "busy";
    }
  }

  /** Everything was sent that the reader may have by now. */
  #settled(): void {
    const { cache, frames, param } = this.#options;
    const isBeyond = this.#position > frames.count;
    if (frames.hasEnded && !isBeyond) this.end();
    else if (cache.isSettled || frames.hasEnded)
      this.fail(isBeyond ? beyondEnd(this.#position, frames.count, param) : UNENDED);
    else if (cache.shown.visibility?.isUnavailable) this.fail(UNJUDGED, UNJUDGED_RETRY_MS);
  }

  #write({ bytes, next }: { bytes: Buffer; next: number }): void {
    this.#position = next;
    this.write(bytes, plus(this.#options.frames.seqBefore(next), 1));
  }

  /** Sends a few frames that the node does not keep, and continues from its memory if it can. */
  async #sendMissing(): Promise<void> {
    const { frames, counts } = this.#options;
    this.#isPassing = true;
    if (!this.#isBehind) counts.fallenBack++;
    this.#isBehind = true;
    try {
      this.#pass ??= new PrivatePass(frames.source);
      const made = await this.#pass.next(this.#position);
      if (!this.isClosed) this.#writeMissing(this.#pass, made);
    } catch (error) {
      this.fail(toRepriseError(error));
    }
    this.#isPassing = false;
    this.pump();
  }

  #writeMissing({ seq }: PrivatePass, made: FrameWindow): void {
    // The node has made these frames before, of the same events.
    if (made.next === this.#position) throw unlike(this.#position);
    const from = this.#position;
    this.#position = made.next;
    this.#writeWindow(made, from, plus(seq, 1));
  }

  /** @param next the first event of which the frames do not tell everything */
  #writeWindow(window: FrameWindow, from: number, next: Seq): void {
    for (
      let view = window.view(from, MAX_WRITE_BYTES);
      view && !this.isClosed;
      view = window.view(view.next, MAX_WRITE_BYTES)
    )
      this.write(view.bytes, view.next === window.next ? next : this.nextSeq);
  }
}

/** Returns the error for a position that is beyond the frames of any projection of the log. */
export function beyondEnd(position: number, frames: number, param: string): RepriseError {
  const message = `The position ${position} is beyond the end of this generation: it has ${frames} frames.`;
  return new RepriseError("cursor_invalid", message, { param });
}

function unlike(position: number): RepriseError {
  return new RepriseError("internal", `A projection did not make frame ${position} again.`);
}

const UNENDED = new RepriseError("internal", "The log has ended, and the projection of it has not.");
