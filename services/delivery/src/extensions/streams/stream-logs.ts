import { hash } from "node:crypto";
import { pause, Semaphore } from "@reprise/async";
import {
  type Broker,
  createWriterName,
  ifUnavailable,
  notPublished,
  purgeSubject,
  readLastRaw,
  readRawFromLeader,
  readStreamBatch,
  watchConnection,
} from "@reprise/broker";
import {
  DURABLE_STREAMS_STREAM,
  type DurableStreamName,
  durableStreamSubject,
  plus,
  RepriseError,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";
import { askPatiently, type GenerationLog } from "@reprise/stream";
import { FairQueue, NO_REST } from "../../bodies/fair-queue.ts";
import {
  type Decision,
  decideCreate,
  decideDelete,
  decideTouch,
  type Refused,
  type Unchanged,
} from "./next-record.ts";
import { decodeRecord, encodeRecord, headOf, type StreamHead, type StreamRecord } from "./stream-record.ts";

export interface StreamLogPorts {
  readonly broker: Pick<Broker, "reads">;
  readonly log: Pick<GenerationLog, "publish" | "budgetMs">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Content of one record. */
export interface StreamPiece {
  readonly at: StreamSeq;
  /** Place of the piece before it. */
  readonly previous: StreamSeq;
  readonly data: Uint8Array;
}

export interface Stored {
  readonly kind: "stored";
  readonly head: StreamHead;
}

/** A stream's log as this node writes it. */
interface OpenStream {
  /** One append of this node is on its way at a time. */
  readonly turns: Semaphore;
  /** The last record that this node knows of. */
  head: StreamHead | undefined;
}

const PAUSE_MS = 20;
/** Logs that a node keeps open: one is opened again by a read of its last record. */
const MAX_OPEN = 4_096;
const READ_BYTES = 1_024 * 1_024;
const BATCH_MESSAGES = 256;
/** Reads under way at once in a node, tenants in turn: the broker closes a connection to which 64 MiB are waiting. */
const reads = new FairQueue(16, { load: NO_REST, maxOfTenant: 12 });

export const sha256 = (text: string): Uint8Array => hash("sha256", text, "buffer");

/** Subject of a stream's log, also its key within a node. */
export function subjectOf(stream: DurableStreamName): string {
  return durableStreamSubject(stream, sha256);
}

/**
 * Writes and reads the logs of durable streams. A record is stored only after the one that it was decided by, at whichever node: `next-record.ts`. A refusal
 * counts only if it was decided by the last record, as the leader has it.
 */
export class StreamLogs {
  readonly #ports: StreamLogPorts;
  readonly #open = new Map<string, OpenStream>();

  constructor(ports: StreamLogPorts) {
    this.#ports = ports;
    // A broker that comes back may have lost records, and has given their places to others since.
    watchConnection(ports.broker.reads, { onDown: () => this.#open.clear() });
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#ports.now();
  }

  /**
   * Reads the end of a log from its leader; undefined for one without records.
   * @throws RepriseError `broker_unavailable`, `overloaded`
   */
  async readHead(stream: DurableStreamName): Promise<StreamHead | undefined> {
    const subject = subjectOf(stream);
    const last = await this.#read(stream, () =>
      readLastRaw(this.#ports.broker.reads, DURABLE_STREAMS_STREAM, subject),
    );
    if (last && !last.isPublished) throw notPublished(subject);
    return last && headOf(decodeRecord(last.payload), last.streamSeq);
  }

  /**
   * Stores what is decided by the last record.
   * @throws RepriseError `broker_unavailable`
   */
  async change(
    stream: DurableStreamName,
    decide: (head: StreamHead | undefined, nowMs: number) => Decision,
  ): Promise<Stored | Unchanged | Refused> {
    const open = this.#of(subjectOf(stream));
    return open.turns.run(async () => {
      let isLast = open.head === undefined;
      if (isLast) open.head = await this.readHead(stream);
      for (;;) {
        const decision = decide(open.head, this.now());
        if (decision.kind === "store") {
          const record = { ...decision.record, id: createWriterName() };
          const at = await this.#store(subjectOf(stream), open.head?.at ?? STREAM_START, record);
          if (at !== undefined) return { kind: "stored", head: (open.head = headOf(record, at)) };
        } else if (isLast) return decision;
        open.head = await this.readHead(stream);
        isLast = true;
      }
    });
  }

  /**
   * Creates a stream, unless it is there. What an expired one has left is removed.
   * @throws RepriseError `broker_unavailable`
   */
  async create(
    stream: DurableStreamName,
    asked: Parameters<typeof decideCreate>[1],
  ): Promise<Stored | Unchanged | Refused> {
    let earlier: StreamHead | undefined;
    const outcome = await this.change(stream, (head, nowMs) => {
      earlier = head;
      return decideCreate(head, asked, nowMs);
    });
    if (outcome.kind === "stored" && earlier) await this.#purgeBefore(stream, outcome.head.at);
    return outcome;
  }

  /**
   * Says that a stream was read, if it has to be stored. Returns its head.
   * @throws RepriseError `stream_not_found`, `broker_unavailable`
   */
  async touch(stream: DurableStreamName, head: StreamHead): Promise<StreamHead> {
    if (decideTouch(head, this.now()).kind === "unchanged") return head;
    const touched = await this.change(stream, decideTouch);
    if (touched.kind === "refused") throw touched.error;
    return touched.head;
  }

  /**
   * Ends a stream and removes its records.
   * @throws RepriseError `broker_unavailable`
   */
  async remove(stream: DurableStreamName): Promise<Refused | Stored> {
    const outcome = await this.change(stream, decideDelete);
    const last = outcome.kind === "refused" ? await this.readHead(stream) : outcome.head;
    // An earlier delete may not have removed its records.
    if (last?.kind === "delete") await this.#purgeBefore(stream, last.at);
    return outcome as Refused | Stored;
  }

  /** Removes the records of what had this name before. */
  async #purgeBefore(stream: DurableStreamName, at: StreamSeq): Promise<void> {
    const patience = { budgetMs: () => this.#ports.log.budgetMs };
    const purge = () => purgeSubject(this.#ports.broker.reads, DURABLE_STREAMS_STREAM, subjectOf(stream), at);
    await askPatiently(patience, purge);
  }

  /**
   * Reads what follows an offset, up to the tail of the head; what is left is read by another call.
   * @param maxBytes of all pieces, unless there is one alone. Default 1 MiB
   * @throws RepriseError `cursor_expired` if records in between are no longer kept, `cursor_invalid` after the tail, `stream_not_found` if it was deleted
   *   meanwhile, `broker_unavailable`
   */
  async read(
    stream: DurableStreamName,
    { created, tail }: StreamHead,
    after: StreamSeq,
    maxBytes = READ_BYTES,
  ): Promise<readonly StreamPiece[]> {
    if (after > tail)
      throw new RepriseError("cursor_invalid", "offset is after the end of the stream.", { param: "offset" });
    const start = plus(created, -1);
    if (after !== STREAM_START && after < start) throw expired();
    const pieces: StreamPiece[] = [];
    let last = after < start ? start : after;
    let at = last;
    for (let bytes = 0; last < tail && bytes < maxBytes;) {
      const found = await this.#readSome(stream, at, maxBytes);
      if (found.length === 0) throw expired();
      for (const { streamSeq, payload } of found) {
        at = streamSeq;
        const record = decodeRecord(payload);
        if (headOf(record, at).created !== created || record.kind === "delete") throw gone();
        if (record.kind !== "create" && record.previous > last) throw expired();
        if (at > tail) break;
        if (record.kind === "create") last = at;
        if (record.data.length === 0) continue;
        // In memory of its own: the payload is a view of what the connection has read.
        pieces.push({ at, previous: record.previous, data: Uint8Array.from(record.data) });
        bytes += record.data.length;
        last = at;
        if (bytes >= maxBytes) break;
      }
    }
    return pieces;
  }

  /** Any replica; what it lacks is asked of the leader. */
  async #readSome(stream: DurableStreamName, after: StreamSeq, maxBytes: number) {
    const connection = this.#ports.broker.reads;
    const request = { afterStreamSeq: after, subject: subjectOf(stream) };
    return this.#read(stream, async () => {
      const bounds = { maxMessages: BATCH_MESSAGES, maxBytes };
      const batch = await readStreamBatch(connection, DURABLE_STREAMS_STREAM, { ...request, ...bounds });
      if (batch.messages.length > 0) return batch.messages;
      for await (const next of readRawFromLeader(connection, DURABLE_STREAMS_STREAM, request)) return [next];
      return [];
    });
  }

  /** Asks the broker when it is the tenant's turn. */
  #read<T>({ tenant }: DurableStreamName, ask: () => Promise<T>): Promise<T> {
    return askPatiently({ budgetMs: () => this.#ports.log.budgetMs }, async () => {
      const place = await reads.enter(tenant, 1);
      if (!place)
        throw new RepriseError("overloaded", "Too many durable streams are read at once.", {
          retryAfterMs: 1_000,
        });
      try {
        return await ask();
      } finally {
        place.release();
      }
    });
  }

  #of(key: string): OpenStream {
    const open = this.#open.get(key) ?? { turns: new Semaphore(1), head: undefined };
    // The last one used is the last to be closed.
    this.#open.delete(key);
    this.#open.set(key, open);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#open.delete(oldest);
    return open;
  }

  /**
   * Stores a record after the expected one. After a conflict or a lost answer the records that follow that one tell whether it is stored.
   * @returns its place; undefined if another record is there
   * @throws RepriseError `broker_unavailable`
   */
  async #store(
    subject: string,
    expectedLast: StreamSeq,
    record: StreamRecord,
  ): Promise<StreamSeq | undefined> {
    const { broker, log } = this.#ports;
    const payload = encodeRecord(record);
    const deadline = performance.now() + log.budgetMs;
    // If it is stored, it is the next one. The expected one may have expired.
    const find = async () => {
      const after = { afterStreamSeq: expectedLast, subject };
      for await (const next of readRawFromLeader(broker.reads, DURABLE_STREAMS_STREAM, after))
        return next.isPublished && decodeRecord(next.payload).id === record.id ? next.streamSeq : "other";
      const last = await readLastRaw(broker.reads, DURABLE_STREAMS_STREAM, subject);
      return (last?.streamSeq ?? STREAM_START) === expectedLast ? undefined : "other";
    };
    for (;;) {
      const outcome = await log.publish(subject, payload, { expectedLast });
      if (outcome.kind === "stored") return outcome.streamSeq;
      const found = await find().catch(ifUnavailable(undefined));
      if (found !== undefined) return found === "other" ? undefined : found;
      if (performance.now() > deadline) throw notStored();
      await pause(PAUSE_MS);
    }
  }
}

function expired(): RepriseError {
  return new RepriseError("cursor_expired", "What follows the offset is no longer kept.", {
    param: "offset",
  });
}

function gone(): RepriseError {
  return new RepriseError("stream_not_found", "The stream was deleted while it was read.");
}

function notStored(): RepriseError {
  return new RepriseError("broker_unavailable", "The broker does not store the record; send it again.", {
    retryAfterMs: 1_000,
  });
}
