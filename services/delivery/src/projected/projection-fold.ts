import type { GenerationCache, Hub } from "@reprise/stream";
import type { Frame, ProjectedRun } from "@reprise/projections";
import {
  decodeEvent,
  type KnownEvent,
  peekSeq,
  plus,
  RepriseError,
  REQUEST_SEQ,
  type Seq,
  toUnixMs,
  type UnknownEvent,
} from "@reprise/protocol";

/** A fold over a log's events from seq 1. Every `Projection` is one; the frames of one that is none are left out. */
export interface Fold<State> {
  /** Name of the fold. For one generation, folds with the same name have the same result. */
  readonly name: string;
  readonly isTextless?: boolean;
  begin(run: ProjectedRun): State;
  project(
    state: State,
    event: KnownEvent | UnknownEvent,
  ): { readonly state: State; readonly frames?: readonly Frame[] };
}

/*
 * The size of a state is counted by its events. Measured with `packages/projections/bench.ts`: one that has their text holds it in one or two bytes per character, and an
 * object or two per event; a log of nothing but log probabilities, or of words and thoughts by turns, takes up to 2.5 times what is counted.
 */
const TEXTS_HELD = 2;
const BYTES_PER_EVENT = 64;
/** Bytes of events after which a step ends. An event with log probabilities has a hundred times those of a token. */
const STEP_BYTES = 256 * 1_024;

/** Takes the frames of one event, and the number of the first of them. */
export type TakeFrames = (frames: readonly Frame[], first: number) => void;

/**
 * Result of a step. `settled`: it reached the last event that append-only readers may have. `more`: there are more events in memory. `absent`: the next event
 * must be read from the log.
 */
export type FoldStep = "settled" | "more" | "absent";

/**
 * A fold of one generation's settled events, as readers see them. It works in steps, so that a long log does not hold up the node. It begins again if a late
 * withdrawal changes an event that was already folded.
 */
export class ProjectionFold<State> {
  readonly run: ProjectedRun;
  readonly #hub: Pick<Hub, "readHistory">;
  readonly #cache: GenerationCache;
  readonly #fold: Fold<State>;
  readonly #stop: () => void;
  readonly #onReset: () => void;
  #state: State;
  #seq: Seq = REQUEST_SEQ;
  #frames = 0;
  #bytes = 0;
  #resets = 0;

  /**
   * @param onReset called when the fold has begun again
   * @throws RepriseError `cursor_expired` if the log has lost its beginning
   */
  constructor(
    { hub, cache }: { hub: Pick<Hub, "readHistory">; cache: GenerationCache },
    fold: Fold<State>,
    onReset: () => void = () => {},
  ) {
    this.#hub = hub;
    this.#cache = cache;
    this.#fold = fold;
    this.#onReset = onReset;
    this.run = toRun(cache);
    this.#state = fold.begin(this.run);
    this.#stop = cache.shown.onWithdrawn((_seq, changed) => {
      if (changed.some(({ fromSeq }) => fromSeq <= this.#seq)) this.reset();
    });
  }

  get state(): State {
    return this.#state;
  }

  /** The last event folded; `REQUEST_SEQ` for none. */
  get seq(): Seq {
    return this.#seq;
  }

  /** Number of frames that the folded events have made. */
  get frames(): number {
    return this.#frames;
  }

  /** Memory that the state holds, in bytes, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Folds at most `most` events that are in memory, and no more after `STEP_BYTES`. @param take called for each */
  step(most: number, take?: TakeFrames): FoldStep {
    const { settledSeq } = this.#cache;
    const to = Math.min(settledSeq, plus(this.#seq, most));
    let bytes = 0;
    while (this.#seq < to && bytes < STEP_BYTES) {
      const payload = this.#cache.shown.payloadAt(plus(this.#seq, 1));
      if (!payload) return "absent";
      bytes += payload.length;
      this.#take(payload, take);
    }
    return this.#seq < settledSeq ? "more" : "settled";
  }

  /**
   * Folds one batch of events that the hub has let go of. Nothing else may step meanwhile.
   * @throws RepriseError as `Hub.readHistory`
   */
  async stepHistory(take?: TakeFrames): Promise<void> {
    const resets = this.#resets;
    const payloads = await this.#hub.readHistory(this.#cache, plus(this.#seq, 1));
    // What was read is as it was before the withdrawal.
    if (resets !== this.#resets) return;
    for (const payload of payloads) {
      if (peekSeq(payload) > this.#cache.settledSeq) return;
      this.#take(payload, take);
    }
  }

  /** Begins again from the log's beginning. */
  reset(): void {
    this.#resets++;
    this.#state = this.#fold.begin(this.run);
    this.#seq = REQUEST_SEQ;
    this.#frames = 0;
    this.#bytes = 0;
    this.#onReset();
  }

  /** To be called when nothing more is folded. */
  stop(): void {
    this.#stop();
  }

  #take(payload: Uint8Array, take: TakeFrames | undefined): void {
    const { state, frames = NO_FRAMES } = this.#fold.project(this.#state, decodeEvent(payload));
    this.#state = state;
    this.#seq++;
    this.#bytes += BYTES_PER_EVENT + (this.#fold.isTextless ? 0 : TEXTS_HELD * payload.length);
    take?.(frames, this.#frames);
    this.#frames += frames.length;
  }
}

const NO_FRAMES: readonly Frame[] = [];

function toRun({ ref, requested }: GenerationCache): ProjectedRun {
  if (!requested)
    throw new RepriseError("cursor_expired", "The beginning of this generation's log is no longer kept.");
  const { created_at: createdAt, request } = requested;
  return { generation: ref.generation, model: request.model, createdAtMs: toUnixMs(createdAt) };
}
