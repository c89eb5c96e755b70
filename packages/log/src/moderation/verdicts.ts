import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import {
  decodeVerdict,
  encodeVerdict,
  type GenerationRef,
  liveVerdictSubject,
  RepriseError,
  type Verdict,
  VERDICTS_STREAM,
  verdictSubject,
} from "@reprise/protocol";
import { HEADER } from "../nats/header.ts";
import type { Publish, PublishOutcome } from "../nats/publisher.ts";
import type { NoReply, ReplyInbox } from "../nats/reply-inbox.ts";
import { subscribeGuarded } from "../nats/subscribe-guarded.ts";

/*
 * Verdicts of moderation. Every verdict goes out live, a hint that may be lost; some are stored, the last one of each
 * generation is kept, and the broker republishes it to where the live ones go.
 */

/** Publishes to present subscribers. Costs no answer and no storage; dropped while the connection is down. */
export function publishLiveVerdict(connection: NatsConnection, ref: GenerationRef, verdict: Verdict): void {
  connection.publish(liveVerdictSubject(ref), encodeVerdict(verdict));
}

/**
 * Stores a verdict, which the broker republishes, unless another one was stored meanwhile (`conflict`).
 * @param expectedLast the stream sequence of the verdict that is stored now; 0 for none
 */
export function storeVerdict(
  publish: Publish,
  ref: GenerationRef,
  verdict: Verdict,
  { expectedLast }: { expectedLast: number },
): Promise<PublishOutcome> {
  return publish(verdictSubject(ref), encodeVerdict(verdict), { expectedLast });
}

/** A verdict, and the stream sequence that the next one expects to be the last. */
export interface StoredVerdict {
  readonly verdict: Verdict;
  readonly streamSeq: number;
}

/**
 * Reads the verdict that is stored last; undefined when there is none.
 * Both throw RepriseError `broker_unavailable` when no answer comes within 2 s.
 */
export interface VerdictReader {
  /** From any replica: true, but it may be a moment old. */
  readVerdict(ref: GenerationRef): Promise<StoredVerdict | undefined>;
  /** From the leader, for the process that writes the next one: it has everything that was acknowledged before. */
  readVerdictFromLeader(ref: GenerationRef): Promise<StoredVerdict | undefined>;
}

const TIMEOUT_MS = 2_000;
const NOT_FOUND = 404;

interface GetAnswer {
  message?: { seq: number; data?: string };
  error?: { code: number; description?: string };
}

export function createVerdictReader(inbox: ReplyInbox): VerdictReader {
  function ask<T>(subject: string, request: string, read: (reply: Msg) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      inbox.request(subject, request, {
        timeoutMs: TIMEOUT_MS,
        handler(reply) {
          try {
            if (typeof reply === "string") throw unavailable(reply);
            resolve(read(reply));
          } catch (error) {
            reject(error);
          }
          return false;
        },
      });
    });
  }

  return {
    readVerdict: (ref) =>
      ask(`$JS.API.DIRECT.GET.${VERDICTS_STREAM}.${verdictSubject(ref)}`, "", fromReplica),
    readVerdictFromLeader: (ref) => {
      const request = JSON.stringify({ last_by_subj: verdictSubject(ref) });
      return ask(`$JS.API.STREAM.MSG.GET.${VERDICTS_STREAM}`, request, fromLeader);
    },
  };
}

function fromReplica({ headers, data }: Msg): StoredVerdict | undefined {
  const { code = 0, description = "" } = headers ?? {};
  if (code === NOT_FOUND) return undefined;
  if (code !== 0) throw unavailable(`${code} ${description}`);
  return toStored(data, Number(headers?.get(HEADER.sequence)));
}

function fromLeader(reply: Msg): StoredVerdict | undefined {
  const { message, error } = reply.json<GetAnswer>();
  if (message) return toStored(Buffer.from(message.data ?? "", "base64"), message.seq);
  if (error?.code === NOT_FOUND) return undefined;
  throw unavailable(`${error?.code} ${error?.description}`);
}

/** @throws RepriseError `protocol_violation` for what no version of moderation has written */
function toStored(payload: Uint8Array, streamSeq: number): StoredVerdict {
  const verdict = decodeVerdict(payload);
  if (!verdict) throw new RepriseError("protocol_violation", "The stored verdict cannot be decoded.");
  return { verdict, streamSeq };
}

function unavailable(reason: NoReply | (string & {})): RepriseError {
  return new RepriseError("broker_unavailable", `The verdict can't be read: ${reason}.`, {
    retryAfterMs: 1_000,
  });
}

export interface VerdictFeedOptions {
  /** Called for each verdict, inside the connection's read loop: it has to be short. */
  onVerdict: (verdict: Verdict) => void;
  /** Called with what `onVerdict` throws. */
  onError: (error: unknown) => void;
}

/** Follows the verdicts of one generation, live or stored: a hint, at most once. Malformed ones go to `onError`. */
export function subscribeVerdicts(
  connection: NatsConnection,
  ref: GenerationRef,
  { onVerdict, onError }: VerdictFeedOptions,
): Subscription {
  const onMessage = ({ data }: Msg) => {
    const verdict = decodeVerdict(data);
    if (!verdict)
      throw new RepriseError("protocol_violation", "The live feed has delivered a malformed verdict.");
    onVerdict(verdict);
  };
  return subscribeGuarded(connection, liveVerdictSubject(ref), { onMessage, onError });
}
