import type { FastifyReply } from "fastify";
import type { DeliveryMarks } from "./delivery-marks.ts";
import type { NewConnection } from "./connection-record.ts";

/** An answer that holds events, or text of events, as a whole. */
export interface FullResponse extends Omit<NewConnection, "position"> {
  /** The last event in it; less than `fromSeq` where it holds none, which is not recorded. */
  readonly lastSeq: number;
}

/** Takes note of a reader that is answered and gone; its events are taken when the whole answer has left. To be called before that is sent. */
export function recordFullResponse(
  { delivered }: { readonly delivered: DeliveryMarks },
  { raw }: FastifyReply,
  { lastSeq, ...answer }: FullResponse,
): void {
  if (lastSeq < answer.fromSeq || raw.destroyed) return;
  const position = {
    sentSeq: lastSeq,
    get takenSeq() {
      return raw.writableFinished ? lastSeq : answer.fromSeq - 1;
    },
  };
  const leave = delivered.enter({ ...answer, position });
  raw.once("close", leave);
}
