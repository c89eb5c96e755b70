import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { RepriseError } from "@reprise/protocol";
import { isNoMessage } from "./error-codes.ts";

/** What an answer of the stream API has beside its own fields. */
interface Answer {
  error?: { code: number; err_code?: number; description?: string };
}

const TIMEOUT_MS = 5_000;

/**
 * One question to the leader of a stream. What is not there is an answer: one without content.
 * @throws RepriseError `broker_unavailable`, also when the broker refuses
 */
export async function requestStreamApi<T extends object>(
  connection: NatsConnection,
  stream: string,
  what: "INFO" | "MSG.GET" | "MSG.DELETE" | "PURGE",
  request: object,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  let reply: Msg;
  try {
    reply = await connection.request(`$JS.API.STREAM.${what}.${stream}`, JSON.stringify(request), {
      timeout: timeoutMs,
    });
  } catch (cause) {
    throw streamUnavailable(stream, "no answer", cause);
  }
  const answer = reply.json<T & Answer>();
  const { error } = answer;
  if (error && !isNoMessage(error.err_code))
    throw streamUnavailable(stream, `${error.err_code} ${error.description}`);
  return answer;
}

/** Who keeps a stream beside its leader, as `INFO` tells it. */
export interface StreamPeers {
  replicas?: { offline?: boolean; /** Since it was heard last, ns. */ active: number }[];
}

/** A message as `MSG.GET` tells it. */
export interface StoredMessage {
  seq: number;
  /** When the broker stored it, by the broker's clock. RFC 3339. */
  time: string;
  subject: string;
  /** Base64; absent when empty. */
  data?: string;
  /** The block of its headers, base64; absent when there are none. */
  hdrs?: string;
}

/**
 * The next message behind a place, as the leader knows it; undefined when there is none. Costs a request per message: for what must not be
 * missed, where a replica says that there is nothing more.
 * @param subject what to select; may have wildcards
 * @throws RepriseError `broker_unavailable`
 */
export async function readNextMessage(
  connection: NatsConnection,
  stream: string,
  { afterStreamSeq, subject }: { afterStreamSeq: number; subject: string },
): Promise<StoredMessage | undefined> {
  const request = { seq: afterStreamSeq + 1, next_by_subj: subject };
  return (await requestStreamApi<{ message?: StoredMessage }>(connection, stream, "MSG.GET", request))
    .message;
}

export function streamUnavailable(stream: string, reason: string, cause?: unknown): RepriseError {
  return new RepriseError("broker_unavailable", `The stream ${stream} can't be read: ${reason}.`, {
    cause,
    retryAfterMs: 1_000,
  });
}

/** A replica that its leader has not heard of for as long counts as gone: nodes exchange heartbeats every second. */
const SILENT_NS = 5_000 * 1_000_000;

/** Of a single server there is no cluster, or one without replicas. */
export function hasQuorum(cluster: StreamPeers | undefined): boolean {
  const replicas = cluster?.replicas ?? [];
  const heard = replicas.filter(({ offline, active }) => offline !== true && active < SILENT_NS).length;
  return (heard + 1) * 2 > replicas.length + 1;
}
