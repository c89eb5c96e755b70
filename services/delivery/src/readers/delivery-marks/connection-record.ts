import { randomBytes } from "node:crypto";
import type { GenerationCache } from "@reprise/stream";
import { encodeSketch, toBase64 } from "@reprise/facts";
import { type DeliveryMark, type ReaderProtocol, type Seq, unixNow } from "@reprise/protocol";
import { NO_STALLS, type StalledTime } from "../../telemetry/stalls.ts";
import type { Position } from "../position.ts";
import type { Caller } from "./caller.ts";

/** A connection that begins to be sent a generation's events. */
export interface NewConnection {
  readonly protocol: ReaderProtocol;
  readonly caller: Caller;
  /** The first event it is to be sent. */
  readonly fromSeq: Seq;
  readonly position: Position;
  /** Where the events come from; undefined where they are not the live log's, of which nothing is withdrawn meanwhile. */
  readonly cache?: GenerationCache | undefined;
  /** Default: the process has always run. */
  readonly stalls?: StalledTime | undefined;
}

/** Delivery record of one connection. A node has one for each reader, so marks are built only when they are due. */
export class ConnectionRecord {
  readonly #connection: NewConnection;
  readonly #reader = `rdr_${randomBytes(12).toString("base64url")}`;
  readonly #startedAtMs = unixNow();
  readonly #knownSeq: Seq | undefined;
  readonly #stopListening: (() => void) | undefined;
  /** Undefined while nothing was withdrawn. */
  #withdrawn: [seq: Seq, sentSeq: Seq][] | undefined;
  /** Changing values of the last stored mark; −1 for none. */
  #recordedSeq = -1;
  #recordedWithdrawals = -1;

  constructor(connection: NewConnection) {
    const { cache, position } = connection;
    this.#connection = connection;
    this.#knownSeq = cache?.lastSeq;
    // Whatever the log's own policy is: a log without moderation may be judged later, by rules of then.
    this.#stopListening = cache?.shown.onWithdrawn((seq) =>
      (this.#withdrawn ??= []).push([seq, position.sentSeq]),
    );
  }

  /** True if a change is in no stored mark yet. */
  get hasUnrecorded(): boolean {
    const { takenSeq } = this.#connection.position;
    return takenSeq !== this.#recordedSeq || (this.#withdrawn?.length ?? 0) !== this.#recordedWithdrawals;
  }

  mark(): DeliveryMark {
    const { protocol, caller, fromSeq, position } = this.#connection;
    return {
      reader: this.#reader,
      protocol,
      address: caller.address,
      by: caller.by,
      from_seq: fromSeq,
      ...(this.#knownSeq !== undefined && { known_seq: this.#knownSeq }),
      started_at: new Date(this.#startedAtMs).toISOString(),
      seq: position.takenSeq,
      ...this.#firstOutput(),
      ...(this.#withdrawn && { withdrawn: [...this.#withdrawn] }),
    };
  }

  #firstOutput(): Pick<DeliveryMark, "first_output"> {
    const { cache, position, stalls = NO_STALLS } = this.#connection;
    const { firstSentAtMs: sentAtMs } = position;
    const first = cache?.figures.firstOutput;
    if (!first || sentAtMs === undefined) return {};
    const { underwayMs, receivedAtMs, shownAtMs = sentAtMs } = first;
    // The log may have handed it over before the live feed did.
    const since = (atMs: number) => underwayMs + Math.max(0, atMs - receivedAtMs);
    // For so long the event lay at this process, which did not run: that is delivery's time, not the broker's.
    const stalledMs = stalls.within(receivedAtMs - underwayMs, receivedAtMs);
    return {
      first_output: {
        received_ms: toMicros(underwayMs - stalledMs),
        shown_ms: toMicros(Math.min(since(shownAtMs) - stalledMs, since(sentAtMs))),
        sent_ms: toMicros(since(sentAtMs)),
      },
    };
  }

  /** Takes note that a mark is stored. */
  recorded({ seq, withdrawn }: DeliveryMark): void {
    this.#recordedSeq = seq;
    this.#recordedWithdrawals = withdrawn?.length ?? 0;
  }

  /** The last mark. Later withdrawals do not concern the connection. */
  end(): DeliveryMark {
    this.#stopListening?.();
    const mark = this.mark();
    const { cache, position } = this.#connection;
    return {
      ...mark,
      ...(position.gaps && { gaps: toBase64(encodeSketch(position.gaps)) }),
      ended_at: new Date().toISOString(),
      ...(cache && { finished: cache.isOver && mark.seq >= cache.lastSeq }),
    };
  }
}

/** In milliseconds, no finer than a microsecond. */
function toMicros(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
