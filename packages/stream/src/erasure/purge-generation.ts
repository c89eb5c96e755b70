import { retry, retryRejected } from "@reprise/async";
import {
  checkpointSubject,
  CHECKPOINTS_STREAM,
  encodeEvent,
  generationJobs,
  generationReviews,
  type GenerationRef,
  inputStreamOf,
  inputSubject,
  isTerminal,
  JOBS_STREAM,
  logSubject,
  parseWorkerId,
  peekSeq,
  peekType,
  readerSubjects,
  READERS_STREAM,
  RepriseError,
  REVIEWS_STREAM,
  streamOf,
  type Transcript,
  VERDICTS_STREAM,
  verdictSubject,
  type StreamSeq,
  plus,
  STREAM_START,
  usageAtEnd,
} from "@reprise/protocol";
import {
  type Broker,
  HEADER,
  getLastMessage,
  getNextMessage,
  headerOf,
  isUnavailable,
  purgeSubject,
  readAllMessages,
  createWriterName,
} from "@reprise/broker";
import { appendDecision } from "../append/append-decision.ts";
import type { GenerationLog } from "../read/generation-log.ts";
import { isHeld } from "@reprise/jobs";
import type { StoredEvent } from "../read/stored-event.ts";
import { isExpiredOrErased } from "../read/expired-or-erased.ts";
import { encodeTextInterval } from "./text-interval.ts";

/*
 * Takes a generation out of the live streams while other processes may be writing to it. In this order:
 *
 * 1. It ends, by compare-and-set like any other cancel. Its job is removed from the queue, and its worker is waited for.
 * 2. A marker replaces its checkpoint: every later read of the log answers that it is no longer kept.
 * 3. An end without any event after it closes it. After an end only moderation and reviewers write, and they may quote text: if they have, another
 *    end is appended. The events before that end are known from here on, and none are inserted between them.
 * 4. The log is purged, except for that end, which holds no generated text. An empty log would start again with the next compare-and-set that
 *    expects an empty log. And a worker that was suspended meanwhile would treat it as a store that was rolled back, and append again the events it
 *    remembers.
 *
 * A checkpoint is written without compare-and-set, so a suspended process may still replace the marker with one: `isPurged` reports that, and
 * purging again removes it.
 */

export interface PurgeTarget {
  readonly broker: Broker;
  readonly log: GenerationLog;
  readonly ref: GenerationRef;
}

/** First and last stream sequence, both included, ascending: by the name of the stream. */
export type StreamRanges = Readonly<Record<string, readonly (readonly [StreamSeq, StreamSeq])[]>>;

/** Why an erased generation has ended, if it had not before. */
const REASON = "erased";
const WORKER_MS = 10_000;
const LEADER_MS = 10_000;
const PAUSE_MS = 100;
const TRIES = 10;
const BATCH = { maxMessages: 256, maxBytes: 1_024 * 1_024 };

/**
 * Ends a generation for good: no worker will take it up, and the one that runs it has let go, or was waited for in vain for 10 s.
 * Nothing happens to one that has ended, or of which nothing is kept.
 * @throws RepriseError `broker_unavailable`
 */
export async function endGeneration({ broker, log, ref }: PurgeTarget): Promise<void> {
  const transcript = await cancel(log, ref);
  await purgeJobs(broker, ref);
  if (transcript?.worker === undefined) return;
  const worker = parseWorkerId(transcript.worker);
  const hasLetGo = async () => ((await isHeld(broker.main, worker, ref.generation)) ? undefined : true);
  await retry(hasLetGo, { pauseMs: PAUSE_MS, budgetMs: WORKER_MS });
}

/** Returns undefined if no log could continue. */
async function cancel(log: GenerationLog, ref: GenerationRef): Promise<Transcript | undefined> {
  try {
    const { transcript } = await appendDecision({
      ...log,
      // The end's checkpoint would hold everything that is to go.
      publishCheckpoint: async () => ({ kind: "unavailable", reason: "timeout" }),
      ref,
      writer: createWriterName(),
      decide: (found, first) =>
        found.ended
          ? undefined
          : { type: "generation.cancelled", reason: REASON, usage: usageAtEnd(found, first) },
    });
    return transcript;
  } catch (error) {
    if (error instanceof RepriseError && isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: RepriseError): boolean {
  return error.code === "generation_not_found" || isExpiredOrErased(error);
}

/** A generation that can be purged. */
export interface ClosedGeneration {
  /** All that `purgeGeneration` takes out of the streams that are archived lies there, and the end that it leaves. */
  readonly ranges: StreamRanges;
  /** Where that end lies; undefined when the log has no events. */
  readonly end: StreamSeq | undefined;
}

/**
 * Makes a generation that has ended ready to be purged: reading it answers that it is no longer kept, and its last event is its end. May be
 * repeated.
 * @throws RepriseError `broker_unavailable`
 */
export async function closeGeneration(target: PurgeTarget): Promise<ClosedGeneration> {
  const { broker, log, ref } = target;
  if (!(await isMarked(broker, ref))) await mark(target);
  const end = await appendEnd(log, ref);
  return { end, ranges: await readGenerationPlaces(target) };
}

/** Where a generation's messages lie in the streams that are archived: its log, its input log and its verdict. */
async function readGenerationPlaces({ broker, ref }: PurgeTarget): Promise<StreamRanges> {
  const subjects = {
    [streamOf(ref.generation)]: logSubject(ref),
    [inputStreamOf(ref.generation)]: inputSubject(ref),
    [VERDICTS_STREAM]: verdictSubject(ref),
  };
  const places = await Promise.all(
    Object.entries(subjects).map(
      async ([stream, subject]) => [stream, await readRanges(broker, stream, subject)] as const,
    ),
  );
  return Object.fromEntries(places.filter(([, ranges]) => ranges.length > 0));
}

/**
 * Where the messages of a subject lie: where the replica that answers knows of no more, the leader decides. A stream that has lost its
 * leader is waited for, 10 s at most: an erasure touches several streams, and one election must not end it.
 * @throws RepriseError `broker_unavailable`
 */
export function readRanges(
  broker: Broker,
  stream: string,
  subject: string,
): Promise<[StreamSeq, StreamSeq][]> {
  const patience = { pauseMs: PAUSE_MS, budgetMs: LEADER_MS };
  return retryRejected(() => readRangesOnce(broker, stream, subject), isUnavailable, patience);
}

async function readRangesOnce(
  { reads }: Broker,
  stream: string,
  subject: string,
): Promise<[StreamSeq, StreamSeq][]> {
  const ranges: [StreamSeq, StreamSeq][] = [];
  const request = { ...BATCH, afterStreamSeq: STREAM_START, subject, raw: true };
  for await (const { streamSeq } of readAllMessages(reads, stream, request)) add(ranges, streamSeq);
  return ranges;
}

function add(ranges: [StreamSeq, StreamSeq][], streamSeq: StreamSeq): void {
  const last = ranges.at(-1);
  if (last && last[1] + 1 === streamSeq) last[1] = streamSeq;
  else ranges.push([streamSeq, streamSeq]);
}

/**
 * Takes a generation that has ended out of every live stream, and leaves a marker by which its id is known as one that was. Its bytes may
 * stay in the broker's files for a while: `fillStream` and `moveCheckpoints` bound that. May be repeated.
 * @param closed as `closeGeneration` has found it; closed here by default
 * @throws RepriseError `broker_unavailable`
 */
export async function purgeGeneration(target: PurgeTarget, closed?: ClosedGeneration): Promise<void> {
  const { main } = target.broker;
  const { ref } = target;
  const stream = streamOf(ref.generation);
  const subject = logSubject(ref);
  const { end, ranges } = closed ?? (await closeGeneration(target));
  if (end !== undefined) await purgeSubject(main, stream, subject, end);
  const input = inputStreamOf(ref.generation);
  // An entry that was on its way is purged the next time, when its place is recorded.
  const lastInput = ranges[input]?.at(-1)?.[1];
  if (lastInput !== undefined) await purgeSubject(main, input, inputSubject(ref), plus(lastInput, 1));
  await purgeSubject(main, VERDICTS_STREAM, verdictSubject(ref));
  await purgeSubject(main, READERS_STREAM, readerSubjects(ref));
  await purgeSubject(main, REVIEWS_STREAM, generationReviews(ref));
  await purgeJobs(target.broker, ref);
}

async function purgeJobs({ main }: Broker, ref: GenerationRef): Promise<void> {
  for (const subject of generationJobs(ref)) await purgeSubject(main, JOBS_STREAM, subject);
}

/**
 * True if no message of a purged generation has come back, as the leaders know it.
 * @throws RepriseError `broker_unavailable`
 */
export async function isPurged({ broker, log, ref }: PurgeTarget): Promise<boolean> {
  if (!(await isMarked(broker, ref))) return false;
  if (await getLastMessage(broker.main, VERDICTS_STREAM, verdictSubject(ref))) return false;
  if (await getLastMessage(broker.main, inputStreamOf(ref.generation), inputSubject(ref))) return false;
  const [first, second] = await log.leader.readTail(ref, STREAM_START, 2);
  return !second && (!first || isEnd(first));
}

/** Where the end of a log lies, which is its last event when this resolves; undefined when it has no events. */
async function appendEnd(
  { publish, requestYield, leader }: GenerationLog,
  ref: GenerationRef,
): Promise<StreamSeq | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const last = await leader.readLast(ref);
    if (!last || isEnd(last)) return last?.streamSeq;
    const usage = { input_tokens: null, output_tokens: 0 };
    const end = encodeEvent(plus(peekSeq(last.payload), 1), {
      type: "generation.cancelled",
      reason: REASON,
      usage,
    });
    const options = { expectedLast: last.streamSeq, writer: createWriterName() };
    const outcome = await publish(logSubject(ref), end, options);
    if (outcome.kind === "conflict") requestYield(ref);
  }
  throw unavailable("An erased generation's log grows faster than it can be ended.");
}

function isEnd({ payload }: StoredEvent): boolean {
  return isTerminal(peekType(payload));
}

/** By compare-and-set: the marker records where the checkpoint lay that it replaces. */
async function mark({ broker, log, ref }: PurgeTarget): Promise<void> {
  const subject = checkpointSubject(ref);
  const beginning = { afterStreamSeq: STREAM_START, subject: logSubject(ref) };
  const first = await getNextMessage(broker.main, streamOf(ref.generation), beginning);
  for (let tries = 0; tries < TRIES; tries++) {
    const last = await getLastMessage(broker.main, CHECKPOINTS_STREAM, subject);
    const outcome = await log.publishCheckpoint(subject, new Uint8Array(), {
      expectedLast: last?.streamSeq ?? STREAM_START,
      extra: { [HEADER.erased]: encodeTextInterval(first, last) },
    });
    if (outcome.kind === "stored") return;
    if (outcome.kind === "unavailable") break;
  }
  throw unavailable("The marker of an erased generation could not be stored.");
}

function unavailable(message: string): RepriseError {
  return new RepriseError("broker_unavailable", message, { retryAfterMs: 1_000 });
}

async function isMarked({ main }: Broker, ref: GenerationRef): Promise<boolean> {
  const last = await getLastMessage(main, CHECKPOINTS_STREAM, checkpointSubject(ref));
  return last !== undefined && headerOf(last, HEADER.erased) !== undefined;
}
