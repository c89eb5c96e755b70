import { type GenerationLog } from "@reprise/stream";
import { storeVerdict } from "@reprise/moderation";
import {
  type GenerationRef,
  type JudgedBy,
  type Verdict,
  type StreamSeq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { isOfLost, lastStartedBy, startedBy } from "../domain/attempts.ts";
import {
  initialState,
  next,
  type PublishVerdict,
  unstoredFrom,
  type VerdictUpdate,
  type WriterInput,
  type WriterState,
} from "./verdict-writer-state.ts";

/**
 * Stores the verdict on one generation. A restarted process continues from it, and it proves what was judged: the consumer's
 * acknowledgements are never ahead of it. `next` of verdict-writer-state.ts decides when to store which verdict.
 */
export class VerdictWriter {
  readonly #log: GenerationLog;
  readonly #ref: GenerationRef;
  #state: WriterState;
  /** The current or last store: if it rejected, its verdict was taken back, and the next `store` starts again. */
  #storing = Promise.resolve();

  private constructor(log: GenerationLog, ref: GenerationRef, state: WriterState) {
    this.#log = log;
    this.#ref = ref;
    this.#state = state;
  }

  /** @throws RepriseError `broker_unavailable` */
  static async open(log: GenerationLog, ref: GenerationRef, by: JudgedBy): Promise<VerdictWriter> {
    return new VerdictWriter(log, ref, initialState(by, await log.verdicts.readVerdictFromLeader(ref)));
  }

  /** The verdict that was stored before, by this process or another one, and was not discarded. */
  get stored(): Verdict | undefined {
    return this.#state.stored;
  }

  /** The stream sequence of the first event that is folded and not in what is stored. */
  get unstoredFrom(): StreamSeq | undefined {
    return unstoredFrom(this.#state);
  }

  /**
   * Discards the stored verdict when the log has an attempt that shows that it was about events that the store has lost.
   * @returns whether it was discarded: then what was left out because of it is still to be done
   */
  discardLost(events: readonly Uint8Array[]): boolean {
    for (const payload of events) {
      const started = startedBy(payload);
      if (!started || !this.stored || !isOfLost(this.stored, started)) continue;
      this.#step({ type: "discard", fromSeq: started.fromSeq });
      return true;
    }
    return false;
  }

  /** True if the stored verdict is about a later attempt than a log has: one that is lost, or that was not read. */
  isAheadOf(events: readonly Uint8Array[]): boolean {
    return (this.stored?.attempt ?? 0) > (lastStartedBy(events)?.attempt ?? 0);
  }

  /** Like `discardLost`, for the whole log as its leader has it: an attempt that it does not have is lost. */
  discardLostOf(events: readonly Uint8Array[]): void {
    if (this.discardLost(events) || !this.isAheadOf(events)) return;
    this.#step({ type: "discard", fromSeq: lastStartedBy(events)?.fromSeq ?? REQUEST_SEQ });
  }

  /** Tells of an event that is folded and lies at this place of the stream. */
  folded(streamSeq: StreamSeq): void {
    this.#step({ type: "folded", streamSeq });
  }

  /** An update that can't be published is tried again by the next `store`, which tells of it. */
  update(update: VerdictUpdate): void {
    this.#step({ type: "update", update });
  }

  /** Resolves when it is stored, or could not be: then it is tried again with the next one. Rejects with what the client does not send. */
  async store(): Promise<void> {
    this.#step({ type: "store" });
    await this.#storing;
  }

  /** Publishes what the transition asks for, until that is stored or given up. */
  #step(input: WriterInput): void {
    const effect = this.#transition(input);
    if (!effect) return;
    this.#storing = this.#publish(effect);
    this.#storing.catch(() => {});
  }

  #transition(input: WriterInput): PublishVerdict | undefined {
    const { state, effect } = next(this.#state, input);
    this.#state = state;
    return effect;
  }

  async #publish(first: PublishVerdict): Promise<void> {
    const { publish, verdicts } = this.#log;
    for (let effect: PublishVerdict | undefined = first; effect;) {
      try {
        const outcome = await storeVerdict(publish, this.#ref, effect.verdict, effect);
        const isStored = outcome.kind === "stored";
        // Another replica has written, or our own answer was lost: what is stored is taken in.
        const present = isStored
          ? undefined
          : await verdicts.readVerdictFromLeader(this.#ref).catch(() => undefined);
        effect = this.#transition(
          isStored ? { type: "stored", streamSeq: outcome.streamSeq } : { type: "refused", present },
        );
      } catch (error) {
        this.#transition({ type: "failed" });
        throw error;
      }
    }
  }
}
