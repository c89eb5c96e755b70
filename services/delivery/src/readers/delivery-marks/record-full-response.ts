import { type GenerationRef, type Seq, plus } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { hasLeft } from "../../connections/http2.ts";
import type { ReaderRegistry } from "../reader-registry.ts";
import { ConnectionRecord, type NewConnection } from "./connection-record.ts";

/** An answer that holds events, or text of events, as a whole. */
export interface FullResponse extends Omit<NewConnection, "position"> {
  readonly ref: GenerationRef;
  /** The last event in it; less than `fromSeq` where it holds none, which is not recorded. */
  readonly lastSeq: Seq;
}

/** Registers a reader that is answered and gone; its events are taken when the whole answer has left. To be called before that is sent. */
export function recordFullResponse(
  { readers }: { readonly readers: Pick<ReaderRegistry, "enter"> },
  { raw }: Pick<FastifyReply, "raw">,
  { ref, lastSeq, ...connection }: FullResponse,
): void {
  if (lastSeq < connection.fromSeq || hasLeft(raw)) return;
  const position = {
    sentSeq: lastSeq,
    get takenSeq() {
      return raw.writableFinished ? lastSeq : plus(connection.fromSeq, -1);
    },
  };
  const leave = readers.enter({ ref, record: new ConnectionRecord({ ...connection, position }) });
  raw.once("close", leave);
}
