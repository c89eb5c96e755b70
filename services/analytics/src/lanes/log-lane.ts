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
import { type EncodedFold, GenerationFold, type GenerationRow } from "@reprise/facts";
import {
  decodeEvent,
  type GenerationRef,
  isTerminal,
  parseLogSubject,
  peekSeq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { type CommitSpan, traceCommits } from "@reprise/runtime";
import { NO_TRACING, type Tracing } from "@reprise/runtime/telemetry";
import type { LaneFacts } from "../facts/commit-facts.ts";
import { positionBehind, type LostMessages, toLostMessages } from "./lane-progress.ts";

export interface LogLaneOptions {
  readonly connection: Broker["reads"];
  /** One of those that logs are spread over. */
  readonly stream: string;
  /** Commits of this stream. */
  readonly facts: LaneFacts;
  /** Keys of the metadata that rows have. */
  readonly keys: readonly string[];
  readonly limits: BatchLimits;
  readonly closeMs?: number | undefined;
  /** Default: none. */
  readonly tracing?: Tracing | undefined;
  /** Called for a batch that has messages, before it is folded. */
  readonly onRead?: (batch: Batch) => void;
  readonly onCommitted: (committed: CommittedBatch) => void;
  readonly onError: (error: unknown) => void;
}

export interface CommittedBatch {
  readonly stream: string;
  readonly rows: readonly GenerationRow[];
  readonly events: number;
  /** Messages that are no event of an open log: moderation's after an end, or of a log whose beginning had expired. */
  readonly strays: number;
  /** Number of open generations. */
  readonly open: number;
  /** Generations that were given up: their logs had no end in the time in which every generation ends. */
  readonly givenUp: number;
  readonly lastAtUs: number;
  /** Up to here the stream is committed. */
  readonly position: LanePosition;
  readonly lost: LostLogs;
}

/** Messages that had expired before this lane could read them. */
export interface LostLogs extends LostMessages {
  /** Generations that have no row because of that, or one that says `is_incomplete`. */
  readonly generations: readonly GenerationRef[];
}

/** No generation lasts as long: 24 hours is the longest `timeouts.total`, and the reaper is late by minutes at most. */
const GIVE_UP_US = 48 * 3_600_000_000;

/** Folds the logs of one stream until `signal` aborts: `followLane`. */
export function runLogLane(options: LogLaneOptions, signal: AbortSignal): Promise<"stopped" | "fenced"> {
  const { connection, stream, facts, limits, closeMs, tracing = NO_TRACING, onError } = options;
  const begin = async (start: LaneStart): Promise<CommitBatch> => {
    const restored = await facts.restore(start);
    const folds = new Map([...restored].map(([subject, fold]) => [subject, GenerationFold.decode(fold)]));
    const lane = new OpenLane(options, folds);
    return traceCommits(tracing, "analytics", (batch: Batch, giveUp, span) =>
      lane.commit(batch, giveUp, span),
    );
  };
  return followLane({ connection, stream, history: facts, limits, begin, closeMs, onError }, signal);
}

/** The open generations of one stream. */
class OpenLane {
  readonly #options: LogLaneOptions;
  readonly #folds: Map<string, GenerationFold>;
  /** Messages that were stored before this have expired unread: infinite until the first message after those is read. */
  #lostBeforeUs = Number.NEGATIVE_INFINITY;

  constructor(options: LogLaneOptions, folds: Map<string, GenerationFold>) {
    this.#options = options;
    this.#folds = folds;
  }

  /**
   * Folds a batch, and commits the result. After a failure the lane restarts from its last commit: the state in memory is then
   * invalid.
   */
  async commit(batch: Batch, giveUp: AbortSignal, span: CommitSpan): Promise<"committed" | "fenced"> {
    const { stream, facts, keys, onRead, onCommitted, onError } = this.#options;
    if (batch.messages.length > 0) onRead?.(batch);
    const changed = new Map<string, GenerationFold>();
    const rows: GenerationRow[] = [];
    const closed: string[] = [];
    const incomplete: GenerationRef[] = [];
    const lost = toLostMessages(batch, facts.position);
    if (lost.messages > 0 || this.#lostBeforeUs === Number.POSITIVE_INFINITY)
      this.#lostBeforeUs = lost.beforeUs ?? batch.messages[0]?.storedAtUs ?? Number.POSITIVE_INFINITY;
    let [events, strays] = [0, 0];
    const slices = new TimeSlices();
    for (const { subject, payload, storedAtUs } of batch.messages) {
      if (slices.isOver()) await slices.next();
      try {
        const fold = this.#foldOf(subject, payload);
        if (!fold?.feed(payload, storedAtUs, keys)) {
          strays++;
          if (!fold && this.#isAfterLoss(storedAtUs) && isEnd(payload))
            incomplete.push(parseLogSubject(subject));
          continue;
        }
        events++;
        changed.set(subject, fold);
        if (!fold.hasEnded) continue;
        const row = fold.toRow();
        rows.push(row);
        if (row.is_incomplete && this.#isAfterLoss(storedAtUs)) incomplete.push(parseLogSubject(subject));
        this.#close(subject, closed);
        changed.delete(subject);
      } catch (error) {
        // Only a process that is broken into appends what is no event.
        strays++;
        onError(error);
      }
    }
    const lane = positionBehind(batch, facts.position);
    const { last_at: lastAtUs } = lane;
    let givenUp = 0;
    for (const [subject, fold] of this.#folds) {
      if (lastAtUs - fold.lastAtUs < GIVE_UP_US) continue;
      if (this.#isAfterLoss(lastAtUs) && fold.lastAtUs <= this.#lostBeforeUs)
        incomplete.push(parseLogSubject(subject));
      this.#close(subject, closed);
      changed.delete(subject);
      givenUp++;
    }
    const encoded: (readonly [string, EncodedFold])[] = [];
    for (const fold of encodeEach(changed)) {
      if (slices.isOver()) await slices.next();
      encoded.push(fold);
    }
    const draft = { lane, rows, changed: encoded, closed };
    const outcome = await retryWhileAway(() => facts.commit(draft, () => encodeEach(this.#folds)), {
      giveUp,
      onError(error) {
        span.failed(error);
        onError(error);
      },
    });
    span.counted({ "reprise.rows": rows.length, "reprise.open": this.#folds.size, "reprise.strays": strays });
    if (outcome === "committed")
      onCommitted({
        stream,
        rows,
        events,
        strays,
        open: this.#folds.size,
        givenUp,
        lastAtUs,
        position: lane,
        lost: { ...lost, generations: incomplete },
      });
    return outcome;
  }

  /** Returns the fold of an event; undefined if its log is not open. */
  #foldOf(subject: string, payload: Uint8Array): GenerationFold | undefined {
    const fold = this.#folds.get(subject);
    if (fold || peekSeq(payload) !== REQUEST_SEQ) return fold;
    const { tenant, generation } = parseLogSubject(subject);
    const begun = GenerationFold.begin({ tenant, generation });
    this.#folds.set(subject, begun);
    return begun;
  }

  /**
   * True if a loss explains the gaps of a log that ends at this time. After an erasure a log has the same gaps, and only its end is there; a loss before this
   * process began is not
   * known.
   */
  #isAfterLoss(atUs: number): boolean {
    return atUs - this.#lostBeforeUs < GIVE_UP_US;
  }

  #close(subject: string, closed: string[]): void {
    this.#folds.delete(subject);
    closed.push(subject);
  }
}

function isEnd(payload: Uint8Array): boolean {
  return isTerminal(decodeEvent(payload).type);
}

/** One by one, as they are asked for. */
function* encodeEach(
  folds: ReadonlyMap<string, GenerationFold>,
): Generator<readonly [subject: string, EncodedFold]> {
  for (const [subject, fold] of folds) yield [subject, fold.encode()];
}
