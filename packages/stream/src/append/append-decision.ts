import { pause } from "@reprise/async";
import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  logSubject,
  RepriseError,
  MediaTranscript,
  generationNotFound,
  plus,
} from "@reprise/protocol";
import { type Publish, ifUnavailable } from "@reprise/broker";
import { storeCheckpoint } from "./checkpoint.ts";
import type { LeaderReader } from "../read/leader-reader.ts";
import { headOf, type LogHead, readAfterHead, toHead } from "../read/log-head.ts";
import type { StoredEvent } from "../read/stored-event.ts";
import type { LogReader } from "../read/log-reader.ts";
import { findRemainingLog } from "./rollback.ts";
import { resolvePublish } from "./resolve-publish.ts";

export interface DecisionOptions {
  publish: Publish;
  publishCheckpoint: Publish;
  maxCheckpointBytes: number;
  reader: LogReader;
  leader: LeaderReader;
  /** Called when another writer was faster. */
  requestYield: (ref: GenerationRef) => void;
  ref: GenerationRef;
  /** Unique to this decision. */
  writer: string;
  /**
   * Returns what to append, given the log; undefined to leave it as it is. Called again each time the log has grown.
   * @param first the oldest event that the log keeps
   */
  decide: (transcript: MediaTranscript, first: Uint8Array) => EventDraft | undefined;
  /** Default 20 s: an election takes up to 10. */
  budgetMs?: number;
}

/** The log after the decision, and whether this call appended an event. */
export interface Decision {
  readonly appended: boolean;
  readonly transcript: MediaTranscript;
  /** The events that the log keeps, oldest first; at least one. */
  readonly events: readonly Uint8Array[];
  /** The oldest event that the log keeps. */
  readonly first: Uint8Array;
}

const BUDGET_MS = 20_000;
const PAUSE_MS = 20;

/**
 * Appends one event to a log that another process may be writing to at the same time: read, decide, compare-and-set, and again if the log has
 * grown meanwhile. After each conflict the log's worker is asked to leave a pause for this append. So a cancel that races with a completion has
 * one winner, and both sides learn which. If the store has lost the events that were read, the whole procedure starts again.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`; `broker_unavailable` when the budget is used up
 */
export async function appendDecision(options: DecisionOptions): Promise<Decision> {
  const deadline = performance.now() + (options.budgetMs ?? BUDGET_MS);
  while (performance.now() < deadline) {
    const decision = await decideFrom(await LogView.read(options), options, deadline);
    if (decision) return decision;
  }
  throw new RepriseError("broker_unavailable", "The log could not be appended to in time.", {
    retryAfterMs: 1_000,
  });
}

/** @returns undefined when the time is up, or the log has lost what the view has of it */
async function decideFrom(
  view: LogView,
  options: DecisionOptions,
  deadline: number,
): Promise<Decision | undefined> {
  const { publish, requestYield, ref, writer, decide } = options;
  while (performance.now() < deadline) {
    const draft = decide(view.transcript, view.first);
    if (!draft) return view.decided(false, options);
    const seq = plus(view.head.seq, 1);
    const payload = encodeEvent(seq, draft);
    const outcome = await publish(logSubject(ref), payload, {
      expectedLast: view.head.streamSeq,
      writer,
    });
    if (outcome.kind === "stored") {
      view.take({ payload, streamSeq: outcome.streamSeq });
      return view.decided(true, options);
    }
    if (outcome.kind === "conflict") requestYield(ref);
    const tail = await readOn(options, view.head, outcome.kind === "conflict").catch(ifUnavailable([]));
    if (!tail) return undefined;
    const judgement = resolvePublish(tail, { writer, seq });
    for (const event of tail) view.take(event);
    if (judgement.kind === "landed") return view.decided(true, options);
    if (tail.length === 0) await pause(PAUSE_MS);
  }
  return undefined;
}

/**
 * Reads the events after the head; undefined when the head is lost. After a conflict most replicas already show the event that caused it. All
 * other cases need the leader.
 */
async function readOn(
  { reader, leader, ref }: DecisionOptions,
  head: LogHead,
  isConflict: boolean,
): Promise<StoredEvent[] | undefined> {
  const shown = isConflict ? await readAfterHead(reader, ref, head) : undefined;
  if (shown && shown.length > 0) return shown;
  const tail = await readAfterHead(leader, ref, head);
  if (tail) return tail;
  const remains = await findRemainingLog(leader, ref, head);
  return remains ? undefined : leader.readTail(ref, head.streamSeq);
}

/** A log as far as it has been read. */
class LogView {
  readonly transcript = new MediaTranscript();
  readonly first: Uint8Array;
  readonly #events: Uint8Array[];
  head: LogHead;

  private constructor(events: Uint8Array[], head: LogHead) {
    const [first] = events;
    if (!first) throw generationNotFound();
    this.first = first;
    this.#events = events;
    this.head = head;
    for (const payload of events) this.transcript.apply(decodeEvent(payload));
  }

  static async read({ reader, ref }: DecisionOptions): Promise<LogView> {
    const log = await reader.readLog(ref);
    return new LogView(log.events, headOf(log));
  }

  take(event: Pick<StoredEvent, "payload" | "streamSeq">): void {
    this.head = toHead(event);
    this.#events.push(event.payload);
    this.transcript.apply(decodeEvent(event.payload));
  }

  /** The process that ends a generation stores its checkpoint: a worker may never do so, and the checkpoint outlives the log as a marker. */
  decided(appended: boolean, { publishCheckpoint, maxCheckpointBytes, ref }: DecisionOptions): Decision {
    const { transcript, head } = this;
    if (appended && transcript.ended) {
      const snapshot = { events: this.#events, streamSeq: head.streamSeq };
      void storeCheckpoint({ publish: publishCheckpoint, ref, snapshot, maxBytes: maxCheckpointBytes });
    }
    return { appended, transcript, events: this.#events, first: this.first };
  }
}
