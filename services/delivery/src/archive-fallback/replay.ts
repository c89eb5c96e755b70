import { retry } from "@reprise/async";
import type { ArchivedEvent } from "@reprise/broker";
import {
  encodeCursor,
  isTerminal,
  peekType,
  RepriseError,
  START,
  type Seq,
  FIRST_SEQ,
  plus,
} from "@reprise/protocol";
import { lostCursor, type ResumePoint, foreignCursor } from "../domain/resume-cursor.ts";
import { type ArchivedLog, readArchived } from "./archived-events.ts";
import { isLostCursor } from "./is-lost-cursor.ts";

export interface ReplayStart extends ResumePoint {
  /** True if the replay begins with seq 0, when the cursor is that of the start. */
  readonly withRequest: boolean;
}

/** All that a reader has in memory, beside what its socket holds. */
const PAGE_BYTES = 256 * 1_024;
/** Replicas of the audit log learn of a commit within a second of one another. */
const REPLICAS_AGREE = { pauseMs: 400, budgetMs: 1_500 };
/** The archive takes up what is new in batches of some seconds. */
const RETRY_AFTER_MS = 5_000;

/**
 * One pass over a generation's events as they are archived, a page at a time. The next one is requested when the reader has taken the last:
 * a slow reader holds one page in memory, and delays no other reader.
 */
export class Replay {
  readonly #log: ArchivedLog;
  #nextSeq: Seq;
  #more = true;
  /** Read already, and not handed out yet. */
  #page: readonly ArchivedEvent[] = [];
  /** True if the last event read, moderation events aside, is the log's end. Undefined until such an event is read. */
  #isEnd: boolean | undefined;

  private constructor(log: ArchivedLog, fromSeq: Seq) {
    this.#log = log;
    this.#nextSeq = fromSeq;
  }

  /**
   * Reads the first page, so that what is wrong is known before anything is shown. The event at the cursor is read too: it tells whether
   * the cursor belongs to this log.
   * @throws RepriseError `generation_not_found`, `generation_erased`; `cursor_invalid`, `events_lost` for a cursor of no event there is
   *   (any more); `cursor_expired` where the archive has a hole; what `AuditClient` throws
   */
  static async open(log: ArchivedLog, { cursor, param, withRequest }: ReplayStart): Promise<Replay> {
    const replay = new Replay(log, cursor.seq === 0 && !withRequest ? FIRST_SEQ : cursor.seq);
    if (encodeCursor(cursor) === encodeCursor(START)) {
      await replay.#read();
      return replay;
    }
    const isFound = async () => {
      await replay.#read();
      return replay.#page.length > 0 || undefined;
    };
    await retry(isFound, REPLICAS_AGREE);
    const [first, ...following] = replay.#page;
    if (first?.cursor !== encodeCursor(cursor))
      throw (await isLostCursor(log, cursor)) ? lostCursor(param) : foreignCursor(param);
    replay.#page = following;
    return replay;
  }

  /** Events that follow those handed out before; none where the archive has no more of them. */
  async next(): Promise<readonly ArchivedEvent[]> {
    while (this.#page.length === 0 && this.#more) await this.#read();
    const page = this.#page;
    this.#page = [];
    return page;
  }

  /** True if `next` has nothing more. */
  get isExhausted(): boolean {
    return this.#page.length === 0 && !this.#more;
  }

  /** Returns true if the log's end is among the events read so far. An exhausted replay then has nothing to follow. */
  async hasEnded(): Promise<boolean> {
    // Only moderation appends after the end. If the reader resumes among those events, the end is further back.
    for (let seq = plus(this.#nextSeq, -1); this.#isEnd === undefined && seq > 0; seq--) {
      const { events } = await readArchived(this.#log, seq, 1);
      this.#note(events.slice(0, 1));
    }
    return this.#isEnd ?? false;
  }

  async #read(): Promise<void> {
    const { events, more } = await readArchived(this.#log, this.#nextSeq, PAGE_BYTES);
    this.#note(events);
    this.#page = events;
    this.#nextSeq = plus(this.#nextSeq, events.length);
    this.#more = more;
  }

  #note(events: readonly ArchivedEvent[]): void {
    const lastType = events
      .map(({ payload }) => peekType(payload))
      .findLast((type) => !type.startsWith("moderation."));
    if (lastType !== undefined) this.#isEnd = isTerminal(lastType);
  }
}

/** Returns the error for an archive that has neither more events nor the generation's end. */
export function unfinished(): RepriseError {
  return new RepriseError("audit_unavailable", "The archive does not have the end of this generation yet.", {
    retryAfterMs: RETRY_AFTER_MS,
  });
}
