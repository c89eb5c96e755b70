import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  logSubject,
  peekSeq,
  RepriseError,
  Transcript,
  generationNotFound,
} from "@reprise/protocol";
import type { LeaderReader } from "./leader-reader.ts";
import type { LogReader, StoredEvent } from "./log-reader.ts";
import type { Publish } from "./publisher.ts";
import { judgeTail } from "./tail-verdict.ts";

export interface DecisionOptions {
  publish: Publish;
  reader: LogReader;
  leader: LeaderReader;
  ref: GenerationRef;
  /** Unique to this decision. */
  writer: string;
  /** What to append, given what the log says; undefined to leave it as it is. Called again whenever the log has grown. */
  decide: (transcript: Transcript) => EventDraft | undefined;
  /** Default 10 s. */
  budgetMs?: number;
}

/** What the log says after the decision, and whether it took an event to get there. */
export interface Decision {
  readonly appended: boolean;
  readonly transcript: Transcript;
  /** The oldest event that the log keeps. */
  readonly first: Uint8Array;
}

/**
 * Appends one event to a log that somebody else may be writing to at the same time: read, decide, compare-and-set, and again
 * when the log has grown meanwhile. So a cancel that races with a completion has one winner, and both sides learn which.
 * @throws RepriseError `generation_not_found`; `broker_unavailable` when the budget is used up
 */
export async function appendDecision(options: DecisionOptions): Promise<Decision> {
  const { publish, reader, leader, ref, writer, decide, budgetMs = 10_000 } = options;
  const deadline = Date.now() + budgetMs;
  const transcript = new Transcript();
  const log = await reader.readLog(ref);
  let seq = -1;
  let streamSeq = log.streamSeq;
  const take = (payload: Uint8Array) => {
    seq = peekSeq(payload);
    transcript.apply(decodeEvent(payload));
  };
  const takeAll = (events: readonly StoredEvent[]) => {
    for (const event of events) {
      take(event.payload);
      streamSeq = event.streamSeq;
    }
  };
  for (const payload of log.events) take(payload);
  const [first] = log.events;
  if (!first) throw generationNotFound();

  while (Date.now() < deadline) {
    const draft = decide(transcript);
    if (!draft) return { appended: false, transcript, first };
    const payload = encodeEvent(seq + 1, draft);
    const outcome = await publish(logSubject(ref), payload, { expectedLast: streamSeq, writer });
    if (outcome.kind === "stored") {
      take(payload);
      return { appended: true, transcript, first };
    }
    // A conflict is settled by any replica, and soon: whoever is writing writes again at once. The rest needs the leader.
    const source = outcome.kind === "conflict" ? reader : leader;
    const tail = await source.readTail(ref, streamSeq).catch(ignoreUnavailable);
    const verdict = judgeTail(tail, { writer, seq: seq + 1 });
    if (verdict.kind === "landed") takeAll([verdict.event]);
    takeAll(verdict.others);
    if (verdict.kind === "landed") return { appended: true, transcript, first };
    if (tail.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new RepriseError("broker_unavailable", "The log could not be appended to in time.", {
    retryAfterMs: 1_000,
  });
}

function ignoreUnavailable(error: unknown): StoredEvent[] {
  if (error instanceof RepriseError && error.code === "broker_unavailable") return [];
  throw error;
}
