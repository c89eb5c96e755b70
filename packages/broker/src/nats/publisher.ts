import { headers, type Msg } from "@nats-io/transport-node";
import { RepriseError, type StreamSeq } from "@reprise/protocol";
import { markPublished } from "./is-published.ts";
import { JETSTREAM_ERROR } from "./jetstream-errors.ts";
import { HEADER } from "./header.ts";
import type { NoReply, ReplyInbox } from "./reply-inbox.ts";

/**
 * Outcome of a publish. `conflict`, and `unavailable` after the message was sent, are ambiguous: only reading the log from its leader tells if the
 * message is stored.
 */
export type PublishOutcome =
  | { kind: "stored"; streamSeq: StreamSeq; duplicate: boolean }
  /** The subject's last message is not the expected one (10071), or an earlier publish to it is still in flight (10164). */
  | { kind: "conflict" }
  /** No answer, no leader, or no connection. */
  | { kind: "unavailable"; reason: NoReply | "broker_error"; detail?: string };

export interface PublishOptions {
  /** Compare-and-set: store only if this is the stream sequence of the subject's last message; 0 for "no message yet". */
  expectedLast?: StreamSeq;
  /** The appender's name, stored with the message. */
  writer?: string;
  /** Store at most once within the stream's duplicate window. */
  messageId?: string;
  /** Further headers to store. */
  extra?: Record<string, string>;
  /** Default 1.2 s: an election is better waited out by publishing again. */
  timeoutMs?: number;
}

export type Publish = (
  subject: string,
  payload: Uint8Array,
  options: PublishOptions,
) => Promise<PublishOutcome>;

/** Called with each outcome, how long it took, and whether it was that of an event: these have the writer's name. */
type OnOutcome = (kind: PublishOutcome["kind"], ms: number, isEvent: boolean) => void;

/** Words between dots. NATS stores what is published to `*` and `>` too, and readers would find it under any subject. */
const ONE_ADDRESS = /^[\w-]+(?:\.[\w-]+)*$/;

/**
 * Publishes to JetStream and waits for the answer. Never throws for what the broker does; every outcome is returned.
 * Rejects with `internal` for a subject that `protocol` can't have made.
 */
export function createPublish(inbox: ReplyInbox, onOutcome?: OnOutcome): Publish {
  return (subject, payload, { expectedLast, writer, messageId, extra, timeoutMs = 1_200 }) => {
    if (!ONE_ADDRESS.test(subject))
      return Promise.reject(new RepriseError("internal", `"${subject}" is an invalid publish subject.`));
    const hdrs = headers();
    if (expectedLast !== undefined) hdrs.append(HEADER.expectedLastSubjectSequence, `${expectedLast}`);
    if (writer !== undefined) hdrs.append(HEADER.writer, writer);
    if (messageId !== undefined) hdrs.append(HEADER.messageId, messageId);
    for (const [name, value] of Object.entries(extra ?? {})) hdrs.append(name, value);
    markPublished(hdrs);
    const sentAtMs = onOutcome && performance.now();
    return new Promise((resolve) => {
      inbox.request(subject, payload, {
        timeoutMs,
        headers: hdrs,
        handler: (reply) => {
          const outcome = toOutcome(reply);
          if (sentAtMs !== undefined)
            onOutcome?.(outcome.kind, performance.now() - sentAtMs, writer !== undefined);
          resolve(outcome);
          return false;
        },
      });
    });
  };
}

function toOutcome(reply: Msg | NoReply): PublishOutcome {
  return typeof reply === "string" ? { kind: "unavailable", reason: reply } : readAnswer(reply);
}

interface PubAck {
  seq?: number;
  duplicate?: boolean;
  error?: { err_code: number; description?: string };
}

const CONFLICTS: ReadonlySet<number> = new Set([
  JETSTREAM_ERROR.wrongLastSequence,
  JETSTREAM_ERROR.earlierPublishInFlight,
]);

function readAnswer(reply: Msg): PublishOutcome {
  let answer: PubAck;
  try {
    answer = reply.json<PubAck>();
  } catch {
    return { kind: "unavailable", reason: "broker_error", detail: "an answer that is not JSON" };
  }
  const { seq, duplicate = false, error } = answer;
  if (error) {
    if (CONFLICTS.has(error.err_code)) return { kind: "conflict" };
    const detail = `${error.err_code} ${error.description ?? ""}`;
    return { kind: "unavailable", reason: "broker_error", detail };
  }
  return seq === undefined
    ? { kind: "unavailable", reason: "broker_error", detail: "an answer without a sequence" }
    : { kind: "stored", streamSeq: seq as StreamSeq, duplicate };
}
