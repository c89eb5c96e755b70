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
  type StreamSeq,
} from "@reprise/protocol";
import {
  getLastDirect,
  streamSeqOf,
  isAnsweredPublished,
  isPublished,
  isStoredPublished,
  publishedHeaders,
  type Publish,
  type PublishOutcome,
  getLastMessage,
  notPublished,
  subscribeGuarded,
} from "@reprise/broker";

/*
 * Verdicts of moderation. Every verdict goes out live, a hint that may be lost; some are stored, the last one of each
 * generation is kept, and the broker republishes it to where the live ones go.
 */

const PUBLISHED = publishedHeaders();

/** Publishes to present subscribers. Costs no answer and no storage; dropped while the connection is down. */
export function publishLiveVerdict(connection: NatsConnection, ref: GenerationRef, verdict: Verdict): void {
  connection.publish(liveVerdictSubject(ref), encodeVerdict(verdict), { headers: PUBLISHED });
}

/**
 * Stores a verdict, which the broker republishes, unless another one was stored meanwhile (`conflict`).
 * @param expectedLast the stream sequence of the verdict that is stored now; 0 for none
 */
export function storeVerdict(
  publish: Publish,
  ref: GenerationRef,
  verdict: Verdict,
  { expectedLast }: { expectedLast: StreamSeq },
): Promise<PublishOutcome> {
  return publish(verdictSubject(ref), encodeVerdict(verdict), { expectedLast });
}

/** A verdict, and the stream sequence that the next one expects to be the last. */
export interface StoredVerdict {
  readonly verdict: Verdict;
  readonly streamSeq: StreamSeq;
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

export function createVerdictReader(connection: NatsConnection): VerdictReader {
  return {
    async readVerdict(ref) {
      const subject = verdictSubject(ref);
      const last = await getLastDirect(connection, VERDICTS_STREAM, subject, [TIMEOUT_MS]);
      if (last && !isAnsweredPublished(last.headers, { stream: VERDICTS_STREAM, subject }))
        throw notPublished(subject);
      return last && toStored(last.data, streamSeqOf(last));
    },
    async readVerdictFromLeader(ref) {
      const last = await getLastMessage(connection, VERDICTS_STREAM, verdictSubject(ref), TIMEOUT_MS);
      if (last && !isStoredPublished(last)) throw notPublished(verdictSubject(ref));
      return last && toStored(last.payload, last.streamSeq);
    },
  };
}

/** @throws RepriseError `protocol_violation` for what no version of moderation has written */
function toStored(payload: Uint8Array, streamSeq: StreamSeq): StoredVerdict {
  const verdict = decodeVerdict(payload);
  if (!verdict) throw new RepriseError("protocol_violation", "The stored verdict cannot be decoded.");
  return { verdict, streamSeq };
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
  const place = { stream: VERDICTS_STREAM, subject: verdictSubject(ref) };
  const liveSubject = liveVerdictSubject(ref);
  const onMessage = ({ subject, data, headers }: Msg) => {
    // A consumer's message, asked for with this reply subject, comes here with its own subject.
    if (subject !== liveSubject) throw notPublished(liveSubject);
    // One that was stored comes from the stream, with the headers of that.
    if (!isPublished(headers) && !isAnsweredPublished(headers, place)) throw notPublished(place.subject);
    const verdict = decodeVerdict(data);
    if (!verdict)
      throw new RepriseError("protocol_violation", "The live feed has delivered a malformed verdict.");
    onVerdict(verdict);
  };
  return subscribeGuarded(connection, liveSubject, { onMessage, onError });
}
