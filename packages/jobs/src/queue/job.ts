import type { GenerationRef, Priority } from "@reprise/protocol";

/** A job that this worker holds until it gives it up, or dies. */
export interface Job {
  readonly ref: GenerationRef;
  readonly model: string;
  readonly priority: Priority;
  /** The seq-0 event. */
  readonly payload: Uint8Array;
  /** From now on `payload` is read there, and its own bytes are let go: a large request need not be held twice. */
  holdPayloadAt(read: () => Uint8Array): void;
  /** The `traceparent` of the span that has queued it: what any process may have written. Absent where that traced nothing. */
  readonly trace?: string | undefined;
  /** Number of times that the broker has handed the job out, including this one. */
  readonly deliveries: number;
  /** Says that the job is still being worked on; to be repeated well within `ackWaitMs`. */
  working(): void;
  /** The job is done for good. Resolves when the broker has heard it, or has not for 2 s, or is away: then the job comes back. */
  ack(): Promise<void>;
  /** Gives the job back, to be handed out again at once or after a while. */
  release(delayMs?: number): void;
  /** Lets another job have the slot while this one only waits. The job stays this worker's: heartbeats continue. */
  park(): void;
  /**
   * True if this process has room for jobs of this tenant that wait without a slot for another job: if they have used it up, that job could not
   * come.
   */
  hasRoomToWait(): boolean;
  /** Resolves when the job has a slot again, or the signal is aborted. By the share of its tenant, before that one's jobs in the queue. */
  unpark(signal: AbortSignal): Promise<void>;
  /**
   * Offers the slot of a batch job to other jobs, or takes the offer back. Does nothing for an interactive job.
   * @param onYield called once, perhaps at once, when another job has the slot: the job has to be given back with `release` as soon as another worker can
   *   continue it
   */
  setYield(onYield: (() => void) | undefined): void;
  /** True if another job has the slot, and this job has neither been given back nor parked since. */
  hasLostSlot(): boolean;
}
