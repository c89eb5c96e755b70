import type { StreamSeq } from "@reprise/protocol";
import type { ConsumerPosition } from "./state.ts";

/**
 * The numbers of deliveries by their places in the stream, for acknowledgements of all up to a place: the broker ignores one whose
 * number is not above the last. Numbers and places rise together except where something was delivered again, so few are kept.
 */
export class DeliverySeqs {
  /** From each of these on, the number is the place plus `ahead`. */
  #runs: { fromStreamSeq: StreamSeq; ahead: number }[] = [];

  add({ streamSeq, deliverySeq }: ConsumerPosition): void {
    const ahead = deliverySeq - streamSeq;
    if (this.#runs.at(-1)?.ahead !== ahead) this.#runs.push({ fromStreamSeq: streamSeq, ahead });
  }

  /** The delivery number that covers all events up to this place. */
  at(streamSeq: StreamSeq): number {
    const run = this.#runs.findLast(({ fromStreamSeq }) => fromStreamSeq <= streamSeq);
    return streamSeq + (run?.ahead ?? 0);
  }

  /** No place below this one is asked for any more. */
  forgetBelow(streamSeq: StreamSeq): void {
    const current = this.#runs.findLastIndex(({ fromStreamSeq }) => fromStreamSeq <= streamSeq);
    if (current > 0) this.#runs.splice(0, current);
  }

  clear(): void {
    this.#runs = [];
  }
}
