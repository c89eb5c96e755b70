import { randomBytes } from "node:crypto";
import { Semaphore } from "@reprise/async";
import { createWriterName } from "@reprise/broker";
import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  EXTERNAL_MODEL,
  generationNotFound,
  type GenerationRef,
  type GenerationStatus,
  isProduced,
  isTerminal,
  type KnownEvent,
  LIMITS,
  MediaTranscript,
  type OutputAppend,
  type OutputEntry,
  REQUEST_SEQ,
  RepriseError,
  type RequestedEvent,
  type UnknownEvent,
  type Usage,
  usageAtEnd,
} from "@reprise/protocol";
import {
  Appender,
  type GenerationLog,
  headOf,
  type LogHead,
  type LogSnapshot,
  readAfterHead,
  readCurrentLog,
  type StoredEvent,
  storeCheckpoint,
  toHead,
} from "@reprise/stream";
import { toRequested } from "../domain/to-requested.ts";

export interface ProducerLogOptions {
  readonly log: GenerationLog;
  readonly ref: GenerationRef;
  /**
   * Called with the entries of a call that are not stored yet, before they are.
   * @throws RepriseError the call's answer
   */
  readonly admit: (entries: readonly OutputEntry[]) => void;
  /** Called once this log has stored the generation's end. */
  readonly onEnded: (requested: RequestedEvent, usage: Usage) => void;
}

/** The answer to a producer's append. */
export interface OutputState {
  /** The last entry that is stored, of all epochs; 0 for none. */
  readonly stored: number;
  /** The status of a generation that has ended; absent while it runs. Entries after the end are not stored. */
  readonly ended?: GenerationStatus;
}

export interface Claimed {
  readonly epoch: number;
  readonly nonce: string;
  /** The number of the next entry. */
  readonly next: number;
  /** Length of the text that counts, in UTF-16 code units, withdrawn text included. */
  readonly textLength: number;
  /** The generation's `timeouts.between_tokens`, in milliseconds. */
  readonly silenceMs: number;
}

/** The log as this node has read and continued it. */
interface ReadLog {
  readonly events: Uint8Array[];
  readonly transcript: MediaTranscript;
  readonly requested: RequestedEvent;
  /** Number of events that producers have stored. */
  produced: number;
  bytes: number;
  /** That of the epoch. */
  nonce: string | undefined;
}

interface OpenLog extends ReadLog {
  appender: Appender;
}

/** Times that a call reads the log again because another process has written to it. */
const MAX_TRIES = 32;

/**
 * A generation's log as its producers write it through one node. A producer's epoch is the attempt in `generation.started`, and its entry n is the n-th
 * event of the log that a producer may append: so the log itself tells what is stored, and the compare-and-set of each append is the fence. An event that
 * a producer appends at another node ends this node's appender as a further attempt does; then the rest of the log is read, and the call continues with
 * those of its entries that are not in it. Calls take turns.
 */
export class ProducerLog {
  readonly #options: ProducerLogOptions;
  readonly #turns = new Semaphore(1);
  #open: OpenLog | undefined;

  constructor(options: ProducerLogOptions) {
    this.#options = options;
  }

  /** Bytes of the log that are in memory. */
  get bytes(): number {
    return this.#open?.bytes ?? 0;
  }

  /** Makes room for another process's append. */
  yield(): void {
    this.#open?.appender.yield();
  }

  /**
   * Begins the next epoch.
   * @param rewind true to withdraw the output since the last tool's answer, which this producer can't continue. After an interrupt it stays: only the end
   *   is missing
   * @throws RepriseError `generation_ended`, `producer_fenced` for a generation of the workers', `generation_not_found`, `generation_expired`,
   *   `generation_erased`, `cursor_expired`, `broker_unavailable`
   */
  claim(rewind: boolean): Promise<Claimed> {
    return this.#retried(async (log) => {
      const { transcript } = log;
      if (transcript.ended) throw hasEnded(transcript.status);
      const epoch = transcript.attempt + 1;
      const silenceMs = log.requested.policy.timeouts.between_tokens.after_ms;
      const nonce = randomBytes(3).toString("hex");
      const isStarted = await append(log, {
        type: "generation.started",
        attempt: epoch,
        worker: EXTERNAL_MODEL,
        model: EXTERNAL_MODEL,
        engine: EXTERNAL_MODEL,
        nonce,
      });
      if (!isStarted) return undefined;
      const { turnSeq, turnShown, interrupt } = transcript;
      const withdraws = rewind && turnShown && !interrupt;
      if (withdraws && !(await append(log, rewindTo(turnSeq)))) return undefined;
      return { epoch, nonce, next: log.produced + 1, textLength: transcript.text.length, silenceMs };
    });
  }

  /**
   * Stores the entries that are not stored yet, one event each.
   * @throws RepriseError `producer_fenced`, `output_gap`, `invalid_request` for the id of an earlier tool call, `limit_exceeded` for a log that is full; what `admit` throws;
   *   as `claim`
   */
  append({ epoch, nonce, first, entries }: OutputAppend): Promise<OutputState> {
    let isAdmitted = false;
    return this.#retried(async (log) => {
      const { transcript } = log;
      const next = log.produced + 1;
      const fresh = first > next ? [] : entries.slice(next - first);
      const isFenced = epoch !== transcript.attempt || (nonce ?? log.nonce) !== log.nonce;
      const isDoubtful = fresh.length === 0 || isFenced;
      // Appended entries are compared with the log anyway.
      if (isDoubtful && !(await isCurrent(log))) return undefined;
      if (transcript.ended) return { stored: log.produced, ...endOf(log) };
      if (isFenced) throw fenced(epoch, transcript.attempt);
      if (entries.length > 0 && first > next) throw outputGap(first, next);
      assertFits(log, fresh);
      if (!isAdmitted && fresh.length > 0) this.#options.admit(fresh);
      isAdmitted = true;
      for (const [i, entry] of fresh.entries()) {
        if (transcript.halted || transcript.interrupt) break;
        const at = `entries.${entries.length - fresh.length + i}`;
        if (!(await append(log, toDraft(log, entry, at)))) return undefined;
      }
      if (needsEnd(log) && !(await append(log, ownEnd(log)))) return undefined;
      return { stored: log.produced, ...endOf(log) };
    });
  }

  /** Begins with the log as this node knows it, and again with the leader's whenever another process has continued that. */
  #retried<T>(attempt: (log: OpenLog) => Promise<T | undefined>): Promise<T> {
    return this.#turns.run(async () => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const log = await this.#current();
        const hadEnded = log.transcript.ended;
        try {
          const result = await attempt(log);
          if (result === undefined) continue;
          if (log.transcript.ended && !hadEnded) await this.#end(log);
          return result;
        } finally {
          const { kind } = log.appender.state;
          if (kind !== "open" && kind !== "fenced") this.#open = undefined;
        }
      }
      throw notStored();
    });
  }

  async #current(): Promise<OpenLog> {
    const open = this.#open;
    if (open?.appender.state.kind === "open") return open;
    if (open && (await reopen(this.#options, open))) return open;
    this.#open = undefined;
    const { log, ref } = this.#options;
    this.#open = openLog(this.#options, await readCurrentLog(log, ref));
    return this.#open;
  }

  /** Before the end no checkpoint is written: an erasure waits for the worker of a generation to write none, and not for nodes. */
  async #end({ appender, events, requested, transcript }: OpenLog): Promise<void> {
    const { log, ref } = this.#options;
    const snapshot = { events, streamSeq: appender.head.streamSeq };
    const { publishCheckpoint: publish, maxCheckpointBytes: maxBytes } = log;
    await storeCheckpoint({ publish, ref, snapshot, maxBytes });
    this.#options.onEnded(requested, transcript.usage);
  }
}

/** @returns false if the log is to be read again: another process has fenced the appender, or the store has lost events */
async function append({ appender }: OpenLog, draft: EventDraft): Promise<boolean> {
  appender.append(draft);
  const state = await appender.settled();
  if (state.kind === "failed") throw state.error;
  return state.kind === "open";
}

/** Reads what others have stored meanwhile. @returns false if that has fenced the appender */
async function isCurrent({ appender }: OpenLog): Promise<boolean> {
  appender.sync();
  return (await appender.settled()).kind === "open";
}

function openLog(options: ProducerLogOptions, snapshot: LogSnapshot): OpenLog {
  const [first] = snapshot.events;
  if (!first) throw generationNotFound();
  const requested = toRequested(first);
  if (requested.request.model !== EXTERNAL_MODEL) throw notExternal(requested.request.model);
  const transcript = new MediaTranscript({ original: true });
  const read: ReadLog = { events: [], transcript, requested, produced: 0, bytes: 0, nonce: undefined };
  for (const payload of snapshot.events) take(read, payload);
  return Object.assign(read, { appender: openAppender(options, read, headOf(snapshot)) });
}

/** Continues a log after the event that has fenced its appender. @returns false if the whole log is to be read: an end may be that of an erasure */
async function reopen(options: ProducerLogOptions, open: OpenLog): Promise<boolean> {
  const { head } = open.appender;
  const tail = await readAfterHead(options.log.leader, options.ref, head);
  if (!tail) return false;
  for (const { payload } of tail) take(open, payload);
  const last = tail.at(-1);
  open.appender = openAppender(options, open, last ? toHead(last) : head);
  return !open.transcript.ended;
}

function openAppender({ log, ref }: ProducerLogOptions, read: ReadLog, head: LogHead): Appender {
  const onStored = ({ payload }: StoredEvent) => take(read, payload);
  return new Appender({ ...log, ref, head, writer: createWriterName(), isFence, onStored });
}

function take(log: ReadLog, payload: Uint8Array): void {
  const event = decodeEvent(payload);
  log.bytes += payload.length;
  log.events.push(payload);
  if (isProduced(event, log.transcript.halted)) log.produced++;
  if (event.type === "generation.started") log.nonce = event.nonce;
  log.transcript.apply(event);
}

/** True if another process's event ends this appender: the numbers of what waits here may have been given to other entries. */
function isFence(event: KnownEvent | UnknownEvent): boolean {
  const { type } = event;
  if (type === "generation.started" || type === "moderation.halted") return true;
  return isTerminal(type) || isProduced(event, undefined);
}

/** @throws RepriseError `limit_exceeded` for entries other than an end, which a full log takes too */
function assertFits({ appender, bytes }: OpenLog, fresh: readonly OutputEntry[]): void {
  let total = bytes;
  for (const entry of fresh) {
    if (entry.type === "generation.completed" || entry.type === "generation.failed") continue;
    total += encodeEvent(appender.head.seq, entry).length;
    if (total > LIMITS.outputTotalBytes) throw logFull(total);
  }
}

function toDraft(log: OpenLog, entry: OutputEntry, at: string): EventDraft {
  switch (entry.type) {
    case "tool.call":
      if (log.transcript.hasCall(entry.call_id)) throw callExists(entry.call_id, `${at}.call_id`);
      return entry;
    case "generation.completed":
    case "generation.failed":
      return { ...entry, usage: entry.usage ?? usageOf(log) };
    default:
      return entry;
  }
}

function needsEnd({ transcript: { halted, interrupt, ended } }: OpenLog): boolean {
  return (halted ?? interrupt) !== undefined && !ended;
}

function endOf({ transcript: { ended, status } }: OpenLog): Pick<OutputState, "ended"> {
  return ended ? { ended: status } : {};
}

/** Moderation or a reader has stopped the output: only the end is missing. */
function ownEnd(log: OpenLog): EventDraft {
  const finish_reason = log.transcript.halted ? "content_filter" : "interrupted";
  return { type: "generation.completed", finish_reason, usage: usageOf(log) };
}

function usageOf({ transcript, requested }: OpenLog): Usage {
  return usageAtEnd(transcript, encodeEvent(REQUEST_SEQ, requested));
}

function rewindTo(seq: MediaTranscript["turnSeq"]): EventDraft {
  return { type: "output.rewind", to_seq: seq, reason: "worker_lost" };
}

function hasEnded(status: GenerationStatus): RepriseError {
  return new RepriseError("generation_ended", `The generation is ${status}.`);
}

function fenced(epoch: number, current: number): RepriseError {
  const message = `The generation's epoch is ${current}, and not this ${epoch}; claim the next one to write to it.`;
  return new RepriseError("producer_fenced", message, { param: "epoch" });
}

function notExternal(model: string): RepriseError {
  return new RepriseError("producer_fenced", `Workers run the generation, whose model is "${model}".`);
}

function outputGap(first: number, next: number): RepriseError {
  const message = `first: is ${first}, and ${next} is the number of the next entry.`;
  return new RepriseError("output_gap", message, { param: "first" });
}

function callExists(id: string, param: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: "${id}" is the id of an earlier call.`, { param });
}

function logFull(bytes: number): RepriseError {
  const param = "output.total_bytes";
  const message = `${param}: the generation would have ${bytes} bytes, and may have ${LIMITS.outputTotalBytes}; end it.`;
  return new RepriseError("limit_exceeded", message, { param, retryable: false });
}

function notStored(): RepriseError {
  const message = "Other processes write to the log at the same time; send the entries again.";
  return new RepriseError("broker_unavailable", message, { retryAfterMs: 1_000 });
}
