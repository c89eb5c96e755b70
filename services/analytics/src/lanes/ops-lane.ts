import { TimeSlices } from "@reprise/async";
import {
  type Batch,
  type BatchLimits,
  type CommitBatch,
  followLane,
  type LanePosition,
  type LaneStart,
  retryWhileAway,
} from "@reprise/facts/lane";
import type { Broker } from "@reprise/broker";
import {
  attemptRow,
  clientRow,
  connectionRow,
  type DeliveryRow,
  type EncodedConnection,
  encodeConnection,
  lostConnectionRow,
} from "@reprise/facts";
import { decodeOpsRecord, type GenerationRef, parseOpsSubject } from "@reprise/protocol";
import { type CommitSpan, traceCommits } from "@reprise/runtime";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import type { LaneFacts } from "../facts/commit-facts.ts";
import { positionBehind, type LostMessages, toLostMessages } from "./lane-progress.ts";

export interface OpsLaneOptions {
  readonly connection: Broker["reads"];
  /** OPS. */
  readonly stream: string;
  readonly facts: LaneFacts<DeliveryRow, EncodedConnection>;
  readonly limits: BatchLimits;
  readonly closeMs?: number | undefined;
  /** Default: none. */
  readonly tracing?: Tracing | undefined;
  /** Called for a batch that has messages, before it is folded. */
  readonly onRead?: (batch: Batch) => void;
  readonly onCommitted: (committed: CommittedDeliveries) => void;
  readonly onError: (error: unknown) => void;
}

export interface CommittedDeliveries {
  readonly rows: readonly DeliveryRow[];
  /** Connections that are not over. */
  readonly open: number;
  /** Up to here the stream is committed. */
  readonly position: LanePosition;
  readonly lost: LostMessages;
}

/** A connection of which nothing was heard for so long has lost its node: a generation ends within 24 hours, and its readers with it. */
const GIVE_UP_US = 48 * 3_600_000_000;

/** A record may have the marks of hundreds of readers. */
const CLOCK_EVERY = 8;

/** Makes rows of what OPS says of deliveries, until `signal` aborts: `followLane`. */
export function runOpsLane(options: OpsLaneOptions, signal: AbortSignal): Promise<"stopped" | "fenced"> {
  const { connection, stream, facts, limits, closeMs, tracing = NO_TRACING, onError } = options;
  const begin = async (start: LaneStart): Promise<CommitBatch> => {
    const lane = new OpenConnections(options, new Map(await facts.restore(start)));
    return traceCommits(tracing, "analytics", (batch: Batch, giveUp, span) =>
      lane.commit(batch, giveUp, span),
    );
  };
  return followLane({ connection, stream, history: facts, limits, begin, closeMs, onError }, signal);
}

/** Undefined for a record of no generation, and for what only a process that is broken into publishes. */
function parseOpsRef(subject: string, onError: (error: unknown) => void): GenerationRef | undefined {
  try {
    const { tenant, generation } = parseOpsSubject(subject);
    return generation === undefined ? undefined : { tenant, generation };
  } catch (error) {
    onError(error);
    return undefined;
  }
}

/** The connections that are not over, by their ids. */
class OpenConnections {
  readonly #options: OpsLaneOptions;
  readonly #connections: Map<string, EncodedConnection>;

  constructor(options: OpsLaneOptions, connections: Map<string, EncodedConnection>) {
    this.#options = options;
    this.#connections = connections;
  }

  /** Commits the result of a batch. After a failure the lane restarts from its last commit. */
  async commit(batch: Batch, giveUp: AbortSignal, span: CommitSpan): Promise<"committed" | "fenced"> {
    const { facts, onRead, onCommitted, onError } = this.#options;
    if (batch.messages.length > 0) onRead?.(batch);
    const rows: DeliveryRow[] = [];
    const changed = new Map<string, EncodedConnection>();
    const closed: string[] = [];
    const close = (reader: string) => {
      changed.delete(reader);
      if (this.#connections.delete(reader)) closed.push(reader);
    };
    const slices = new TimeSlices(undefined, CLOCK_EVERY);
    for (const { subject, payload, storedAtUs } of batch.messages) {
      if (slices.isOver()) await slices.next();
      const ref = parseOpsRef(subject, onError);
      const record = ref && decodeOpsRecord(payload);
      if (!record) continue;
      const place = { ...ref, storedAtUs };
      if (record.kind === "attempt") rows.push(attemptRow(place, record));
      if (record.kind === "timings") rows.push(clientRow(place, record));
      if (record.kind !== "delivered") continue;
      for (const mark of record.readers) {
        if (mark.ended_at === undefined) {
          const connection = encodeConnection(place, mark);
          this.#connections.set(mark.reader, connection);
          changed.set(mark.reader, connection);
        } else {
          rows.push(connectionRow(place, mark));
          close(mark.reader);
        }
      }
    }
    const lost = toLostMessages(batch, facts.position);
    const lane = positionBehind(batch, facts.position);
    for (const [reader, connection] of this.#connections) {
      if (slices.isOver()) await slices.next();
      if (lane.last_at - connection.place.storedAtUs < GIVE_UP_US) continue;
      rows.push(lostConnectionRow(connection));
      close(reader);
    }
    const draft = { lane, rows, changed: [...changed], closed };
    const outcome = await retryWhileAway(() => facts.commit(draft, () => this.#connections), {
      giveUp,
      onError(error) {
        span.failed(error);
        onError(error);
      },
    });
    span.counted({ "reprise.rows": rows.length, "reprise.open": this.#connections.size });
    if (outcome === "committed") onCommitted({ rows, open: this.#connections.size, position: lane, lost });
    return outcome;
  }
}
