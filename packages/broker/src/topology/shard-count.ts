import type { NatsConnection } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import {
  LEASE_GROUPS,
  LEASES_STREAM,
  leaseSubject,
  memberSubject,
  RepriseError,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";
import { SET_UP } from "../access/forbidden.ts";
import { FOR_EVER, HEADER } from "../nats/header.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { isStoredPublished } from "../nats/is-published.ts";
import { getLastMessage, getNextMessage, headerOf, type StoredMessage } from "../nats/stream-api.ts";

/*
 * All processes must use one number of streams over which new generations are spread. With two numbers one Idempotency-Key would map to two
 * generations, and logs would lie in streams that are neither moderated nor archived. So the broker keeps the number, and every process announces its
 * own number once a second.
 *
 * A process that starts announces its own number first and reads the broker's then; a process that raises the broker's number writes it first and reads
 * the announcements of others then. Both ask the leader, so of two that do it at the same moment at least one sees the other and gives up.
 */

const GROUP = LEASE_GROUPS.shards;
/** Where the broker keeps the number. */
const SHARD_COUNT_SUBJECT = leaseSubject(GROUP, "count");
/** Where all processes announce theirs. */
const SHARD_MEMBER_SUBJECTS = memberSubject(GROUP, "*");
/** A process that is silent for so long is gone. */
const SILENCE_MS = 8_000;
const LOOK_MS = 500;
const WRITE_MS = 5_000;

interface ShardAnnouncement {
  readonly shards: number;
}

/** The subject of a process's announcements, once a second. */
export function shardMemberSubject(process: string): string {
  return memberSubject(GROUP, process);
}

/** An announcement. A process that leaves announces 0. */
export function encodeShardAnnouncement(shards: number): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ shards } satisfies ShardAnnouncement));
}

/**
 * The number that the broker keeps; undefined for one that no process has told any. An answer of the broker in its place is none.
 * @throws RepriseError `broker_unavailable`
 */
export async function readShardCount(connection: NatsConnection): Promise<number | undefined> {
  return (await readCount(connection))?.shards;
}

export interface AgreeOptions {
  readonly shards: number;
  /** Counts the existing streams of logs, for brokers that were used before they kept the number. */
  readonly countExisting: () => Promise<number>;
  /** Milliseconds for which a process may be silent before it counts as gone. Default 8 s. */
  readonly silenceMs?: number;
}

/**
 * Makes a number of shards the broker's, where it has none or a lower one and no process runs with another number. LEASES must exist.
 * @throws RepriseError `broker_incompatible` when the number can't be this one; `broker_unavailable`
 */
export async function agreeOnShards(
  connection: NatsConnection,
  { shards, countExisting, silenceMs = SILENCE_MS }: AgreeOptions,
): Promise<void> {
  const kept = await readCount(connection);
  // One that was stored by an older version would expire.
  if (shards === kept?.shards && kept.isForEver) return;
  const known = kept?.shards ?? (await countExisting());
  if (shards < known) throw fewer(known, shards);
  if (shards > known && known > 0) await assertAlone(connection, shards, silenceMs);
  const streamSeq = await writeCount(connection, shards, kept?.streamSeq ?? STREAM_START);
  if (known === 0 || shards === known) return;
  try {
    await assertAlone(connection, shards, silenceMs);
  } catch (error) {
    await writeCount(connection, known, streamSeq);
    throw error;
  }
}

/** That another process has raised the number. */
export function otherShards(kept: number, shards: number): RepriseError {
  return kept < shards ? running(kept, shards) : fewer(kept, shards);
}

function fewer(kept: number, shards: number): RepriseError {
  return incompatible(
    `REPRISE_SHARDS is ${shards}, and this broker's logs are spread over ${kept}. Set it to ${kept} for every process.`,
  );
}

function running(others: number, shards: number): RepriseError {
  return incompatible(
    `REPRISE_SHARDS is ${shards}, and processes run with ${others}. To raise it, stop them all and start them with ${shards}.`,
  );
}

function incompatible(message: string): RepriseError {
  return new RepriseError("broker_incompatible", message, { param: "REPRISE_SHARDS" });
}

/** Waits until those that have another number have been silent for long enough. */
async function assertAlone(connection: NatsConnection, shards: number, silenceMs: number): Promise<void> {
  const first = await readOthers(connection, shards);
  if (first.size === 0) return;
  const areGone = async () => {
    const others = await readOthers(connection, shards);
    for (const [subject, { streamSeq, shards: theirs }] of others)
      if (first.get(subject)?.streamSeq !== streamSeq) throw running(theirs, shards);
    return others.size === 0 ? true : undefined;
  };
  // The last look comes when the time is up.
  await retry(areGone, { pauseMs: LOOK_MS, budgetMs: silenceMs + LOOK_MS });
}

/** Processes that have another number, dead ones too. */
async function readOthers(
  connection: NatsConnection,
  shards: number,
): Promise<Map<string, ShardAnnouncement & { streamSeq: StreamSeq }>> {
  const others = new Map<string, ShardAnnouncement & { streamSeq: StreamSeq }>();
  for (let after = STREAM_START; ;) {
    const place = { afterStreamSeq: after, subject: SHARD_MEMBER_SUBJECTS };
    const message = await getNextMessage(connection, LEASES_STREAM, place);
    if (!message) return others;
    after = message.streamSeq;
    const theirs = decodeAnnouncement(message);
    if (theirs !== 0 && theirs !== shards) others.set(message.subject, { streamSeq: after, shards: theirs });
  }
}

interface KeptCount {
  /** Undefined where a process that may not write it has had the broker store something else in its place. */
  readonly shards: number | undefined;
  readonly streamSeq: StreamSeq;
  readonly isForEver: boolean;
}

async function readCount(connection: NatsConnection): Promise<KeptCount | undefined> {
  const message = await getLastMessage(connection, LEASES_STREAM, SHARD_COUNT_SUBJECT);
  if (!message) return undefined;
  const isForEver = headerOf(message, HEADER.ttl) === FOR_EVER;
  const shards = isStoredPublished(message) ? decodeAnnouncement(message) : undefined;
  return { shards, streamSeq: message.streamSeq, isForEver };
}

/** @returns the message's stream sequence */
async function writeCount(
  connection: NatsConnection,
  shards: number,
  expectedLast: StreamSeq,
): Promise<StreamSeq> {
  const publish = createPublish(inboxOf(connection));
  const outcome = await publish(SHARD_COUNT_SUBJECT, encodeShardAnnouncement(shards), {
    expectedLast,
    // It outlives the stream's `max_age`, also while no process runs; what processes announce of themselves does not.
    extra: { [HEADER.ttl]: FOR_EVER },
    timeoutMs: WRITE_MS,
  });
  if (outcome.kind === "stored") return outcome.streamSeq;
  if (outcome.kind === "unavailable" && outcome.reason === "forbidden")
    throw incompatible(
      `REPRISE_SHARDS is ${shards}, the broker keeps another number or will forget it, and this NATS user may not store it. Set every process to the broker's number; to raise it, stop them all, and ${SET_UP}`,
    );
  const isRaced = outcome.kind === "conflict";
  const why = isRaced ? "another process writes it too" : (outcome.detail ?? outcome.reason);
  // Retried: the other process may have written the same number.
  throw new RepriseError("broker_unavailable", `The number of shards could not be kept: ${why}.`);
}

/** 0 for what is none. */
function decodeAnnouncement({ payload }: StoredMessage): number {
  try {
    const { shards } = JSON.parse(new TextDecoder().decode(payload)) as ShardAnnouncement;
    return Number.isSafeInteger(shards) && shards > 0 ? shards : 0;
  } catch {
    return 0;
  }
}
