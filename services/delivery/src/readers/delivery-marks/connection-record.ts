import { randomBytes } from "node:crypto";
import type { GenerationCache } from "@reprise/log";
import type { DeliveryMark, ReaderProtocol } from "@reprise/protocol";
import type { Position } from "../position.ts";
import type { Caller } from "./caller.ts";

/** A connection that begins to be sent a generation's events. */
export interface NewConnection {
  readonly protocol: ReaderProtocol;
  readonly caller: Caller;
  /** The first event it is to be sent. */
  readonly fromSeq: number;
  readonly position: Position;
  /** Where the events come from; undefined where they are not the live log's, of which nothing is withdrawn meanwhile. */
  readonly cache?: GenerationCache | undefined;
}

/** What is recorded of one connection. */
export class ConnectionRecord {
  readonly #position: Position;
  readonly #mark: Pick<
    DeliveryMark,
    "reader" | "protocol" | "address" | "by" | "from_seq" | "started_at" | "known_seq"
  >;
  readonly #withdrawn: [seq: number, sentSeq: number][] = [];
  readonly #stopListening: (() => void) | undefined;
  /** What the last mark that is stored holds of what changes. */
  #recorded: { readonly seq: number; readonly withdrawals: number } | undefined;

  constructor({ protocol, caller, fromSeq, position, cache }: NewConnection) {
    this.#position = position;
    this.#mark = {
      reader: `rdr_${randomBytes(12).toString("base64url")}`,
      protocol,
      address: caller.address,
      by: caller.by,
      from_seq: fromSeq,
      ...(cache && { known_seq: cache.lastSeq }),
      started_at: new Date().toISOString(),
    };
    this.#stopListening = cache?.onWithdrawn((seq) => this.#withdrawn.push([seq, position.sentSeq]));
  }

  /** Whether there is anything that no stored mark holds. */
  get hasUnrecorded(): boolean {
    const { seq, withdrawals } = this.#recorded ?? {};
    return seq !== this.#position.takenSeq || withdrawals !== this.#withdrawn.length;
  }

  mark(): DeliveryMark {
    return {
      ...this.#mark,
      seq: this.#position.takenSeq,
      ...(this.#withdrawn.length > 0 && { withdrawn: [...this.#withdrawn] }),
    };
  }

  /** Takes note that a mark is stored. */
  recorded({ seq, withdrawn }: DeliveryMark): void {
    this.#recorded = { seq, withdrawals: withdrawn?.length ?? 0 };
  }

  /** The last mark. Later withdrawals do not concern the connection. */
  end(): DeliveryMark {
    this.#stopListening?.();
    return { ...this.mark(), ended_at: new Date().toISOString() };
  }
}
