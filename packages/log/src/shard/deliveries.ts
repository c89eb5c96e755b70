import type { ConsumerPosition } from "./state.ts";

/** The fields of a delivery in the subject that acknowledges it. */
export interface DeliveryInfo extends ConsumerPosition {
  readonly storedAtMs: number;
}

/** Of `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<delivery seq>.<stored at, ns>.<pending>`. */
const V1_TOKENS = 9;
const STREAM_SEQ = 5;
/** In its longer form, domain and account come before the stream. */
const LONGER_BY = 2;

export function readAckSubject(subject: string): DeliveryInfo {
  const tokens = subject.split(".");
  const at = tokens.length > V1_TOKENS ? STREAM_SEQ + LONGER_BY : STREAM_SEQ;
  return {
    streamSeq: Number(tokens[at]),
    deliverySeq: Number(tokens[at + 1]),
    storedAtMs: Number(tokens[at + 2]) / 1_000_000,
  };
}

/**
 * The numbers of deliveries by their places in the stream, for acknowledgements of all up to a place: the broker ignores one whose
 * number is not above the last. Numbers and places rise together except where something was delivered again, so few are kept.
 */
export class DeliverySeqs {
  /** From each of these on, the number is the place plus `ahead`. */
  #runs: { fromStreamSeq: number; ahead: number }[] = [];

  add({ streamSeq, deliverySeq }: ConsumerPosition): void {
    const ahead = deliverySeq - streamSeq;
    if (this.#runs.at(-1)?.ahead !== ahead) this.#runs.push({ fromStreamSeq: streamSeq, ahead });
  }

  /** The number that stands for all up to this place. */
  at(streamSeq: number): number {
    const run = this.#runs.findLast(({ fromStreamSeq }) => fromStreamSeq <= streamSeq);
    return streamSeq + (run?.ahead ?? 0);
  }

  /** No place below this one is asked for any more. */
  forgetBelow(streamSeq: number): void {
    const current = this.#runs.findLastIndex(({ fromStreamSeq }) => fromStreamSeq <= streamSeq);
    if (current > 0) this.#runs.splice(0, current);
  }

  clear(): void {
    this.#runs = [];
  }
}
