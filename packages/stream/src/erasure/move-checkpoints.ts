import type { Msg } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import {
  CHECKPOINTS_STREAM,
  isFillerSubject,
  RepriseError,
  type StreamSeq,
  plus,
  STREAM_START,
} from "@reprise/protocol";
import {
  type Broker,
  getBatchDirect,
  storedAtOf,
  streamSeqOf,
  subjectOf,
  HEADER,
  getNextMessage,
  readStreamInfo,
  toMicroseconds,
} from "@reprise/broker";
import type { GenerationLog } from "../read/generation-log.ts";
import type { TextInterval } from "./text-interval.ts";

/*
 * The broker keeps a generation's last checkpoint, but its files also hold the bytes of all earlier ones: in any file that was written to while
 * the generation ran. nats-server drops a file once no message in it is kept, and rewrites a file of which more than half is gone; but a file that
 * is full and holds mostly other generations' messages stays unchanged for as long as those are kept. So the other messages are moved: each is
 * published again unchanged, by compare-and-set, and the file that becomes empty is dropped with all its bytes.
 *
 * No API says where files begin and end, and on each replica the boundaries may differ. A file takes at most 8 MiB, and takes messages in order:
 * moving 8 MiB of kept messages before the first place and after the last one moves all messages in those files.
 *
 * A moved message has a new age. A TTL lets it expire at its original time.
 */

/** More than a file's messages come to. */
const FILE_BYTES = 8 * 1_024 * 1_024;
const BATCH = { maxMessages: 64, maxBytes: 1_024 * 1_024 };
const FIRST_STEP = 64;
const ALL = ">";
const MOVING = { pauseMs: 20, maxAttempts: 10 };
/** A replica that lags has the newest some moments later. */
const LAGGING = { pauseMs: 50, budgetMs: 10_000 };
/** Headers that are moved with a message: all that readers, and the broker's own expiry, look at. */
const KEPT_HEADERS = [HEADER.checkpointStreamSeq, HEADER.erased, HEADER.writer, "Nats-Marker-Reason"];
/** By so much the clocks of two servers, one of which has stored the log, may differ. */
const SKEW_US = 60_000_000;
const US = 1_000_000;

interface Target {
  readonly broker: Broker;
  readonly log: GenerationLog;
}

/**
 * Moves every checkpoint that shares a file with text of these intervals. To be called while the stream's newest file is none of those:
 * between `fillStream` and `purgeFiller`. Costs the broker as many writes as there is kept in the files, and at least 16 MiB of reading for
 * each interval. May be repeated, and interrupted.
 * @returns how many were moved
 * @throws RepriseError `broker_unavailable`
 */
export async function moveCheckpoints(target: Target, stretches: readonly TextInterval[]): Promise<number> {
  let moved = 0;
  for (const stretch of stretches) moved += await moveStretch(target, stretch);
  return moved;
}

async function moveStretch(target: Target, stretch: TextInterval): Promise<number> {
  const { broker } = target;
  const { atUs, maxAgeUs, lastStreamSeq: end } = await readStreamInfo(broker.main, CHECKPOINTS_STREAM);
  const expiry = { atUs, readAtMs: performance.now(), maxAgeUs };
  let after = plus(await findStart(broker, stretch), -1);
  let beyond = 0;
  let moved = 0;
  // Moved messages are stored after the end, and are not moved again.
  while (beyond < FILE_BYTES && after < end) {
    const read = await readBehind(broker, after);
    const lastRead = read.at(-1);
    if (!lastRead) break;
    after = streamSeqOf(lastRead);
    const messages = read.filter((message) => streamSeqOf(message) <= end);
    for (const message of messages)
      if (streamSeqOf(message) > stretch.lastStreamSeq) beyond += message.data.length;
    const others = messages.filter((message) => !isFillerSubject(subjectOf(message)));
    await Promise.all(others.map((message) => move(target, message, expiry)));
    moved += others.length;
  }
  return moved;
}

/** The first place of an interval, less what a file may hold before it. */
async function findStart({ reads }: Broker, { sinceUs, lastStreamSeq }: TextInterval): Promise<StreamSeq> {
  let start = plus(lastStreamSeq, 1);
  let before = 0;
  for (let step = FIRST_STEP; start > 1 && before < FILE_BYTES; step *= 2) {
    const from = Math.max(plus(STREAM_START, 1), plus(start, -step));
    for (let after = plus(from, -1); after < start - 1;) {
      const { messages } = await getBatchDirect(reads, CHECKPOINTS_STREAM, {
        ...BATCH,
        afterStreamSeq: after,
        subject: ALL,
      });
      const within = messages.filter((message) => streamSeqOf(message) < start);
      for (const message of within)
        if (storedAtUs(message) < sinceUs - SKEW_US) before += message.data.length;
      const last = messages.at(-1);
      if (within.length < messages.length || !last) break;
      after = streamSeqOf(last);
    }
    start = from;
  }
  return start;
}

/** Reads the next messages after a place; empty if the leader has none either. */
async function readBehind({ reads, main }: Broker, afterStreamSeq: StreamSeq): Promise<readonly Msg[]> {
  const request = { ...BATCH, afterStreamSeq, subject: ALL };
  const read = await retry(async () => {
    const { messages } = await getBatchDirect(reads, CHECKPOINTS_STREAM, request);
    const isLagging = messages.length === 0 && (await getNextMessage(main, CHECKPOINTS_STREAM, request));
    return isLagging ? undefined : messages;
  }, LAGGING);
  if (read) return read;
  throw unavailable("A replica of the checkpoints is behind its leader for too long.");
}

interface Expiry {
  /** The broker's time, and when it was asked for. */
  readonly atUs: number;
  readonly readAtMs: number;
  readonly maxAgeUs: number;
}

async function move({ log }: Target, message: Msg, expiry: Expiry): Promise<void> {
  const extra: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = message.headers?.get(name);
    if (value) extra[name] = value;
  }
  const leftS = secondsLeft(message, expiry);
  // What is about to expire leaves its file by itself.
  if (leftS < 1) return;
  if (leftS < Number.POSITIVE_INFINITY) extra[HEADER.ttl] = `${leftS}`;
  const options = { expectedLast: streamSeqOf(message), extra };
  const isMoved = await retry(async () => {
    const outcome = await log.publishCheckpoint(subjectOf(message), message.data, options);
    // A newer one has taken its place: that may be this one, whose answer was lost.
    return outcome.kind === "unavailable" ? undefined : true;
  }, MOVING);
  if (!isMoved) throw unavailable("A checkpoint could not be moved.");
}

function secondsLeft(message: Msg, { atUs, readAtMs, maxAgeUs }: Expiry): number {
  const ttlUs = parseTtlSeconds(message.headers?.get(HEADER.ttl) ?? "") * US;
  const nowUs = atUs + (performance.now() - readAtMs) * 1_000;
  const leftUs = storedAtUs(message) + Math.min(ttlUs, maxAgeUs) - nowUs;
  return leftUs === Number.POSITIVE_INFINITY ? leftUs : Math.floor(leftUs / US);
}

/** Parses a TTL as written here, in seconds, or by the broker: `24h0m0s`. Infinity for none. */
export function parseTtlSeconds(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  const parts = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text);
  if (!parts || text === "") return Number.POSITIVE_INFINITY;
  const [, hours = 0, minutes = 0, seconds = 0] = parts;
  return Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
}

function storedAtUs(msg: Msg): number {
  return toMicroseconds(storedAtOf(msg));
}

function unavailable(message: string): RepriseError {
  return new RepriseError("broker_unavailable", message, { retryAfterMs: 1_000 });
}
