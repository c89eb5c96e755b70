import { setTimeout as pause } from "node:timers/promises";
import { type ApiError, JetStreamApiError, type StreamConfig, type StreamState } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { retryRejected } from "@reprise/async";
import { newInbox, isRefusal, inboxOf, streamUnavailable, watchConnection } from "@reprise/broker";

/*
 * A stream as nats-server exports and imports it: $JS.API.STREAM.SNAPSHOT and RESTORE. The copy holds the stream as of the request; appends
 * continue meanwhile. The bytes are the server's own format, compressed, with a checksum per block and a mark at the end: a restore refuses a
 * truncated copy. Only the user `admin` may do either.
 */

/** Describes the copied stream. The server needs both parts to restore it. */
export interface StreamImage {
  readonly config: StreamConfig;
  readonly state: StreamState;
}

export interface TakeImageOptions {
  /** True if the copy includes consumers, with their places. */
  readonly withConsumers: boolean;
  /** Called with one part after the other; the next one is asked for when it resolves. The bytes are the connection's: they are to be copied or written by then. */
  readonly write: (part: Uint8Array) => Promise<void>;
}

const REQUEST_MS = 20_000;
/** The server gives up after 5 s without an acknowledgement, and says so. */
const SILENCE_MS = 30_000;
/**
 * Milliseconds for which the server that restores a copy in a cluster may be unknown to the server that this process is connected to. A part
 * without any response has reached no server, so it is sent again.
 */
const KNOWN_MS = 10_000;
const AGAIN_MS = 20;
/** The server stores what came before it answers the last part. */
const FINISH_MS = 300_000;
/** Milliseconds for which a cluster may lack servers for a stream: a server that is slow for a moment counts as away. */
const PLACE_MS = 20_000;
const PLACE_PAUSE_MS = 100;
const PART_BYTES = 128 * 1_024;
const WINDOW_BYTES = 4 * 1_024 * 1_024;

/**
 * Copies a stream out.
 * @throws RepriseError `broker_unavailable` when the copy is not whole, or the server refuses
 */
export async function takeImage(
  connection: NatsConnection,
  stream: string,
  { withConsumers, write }: TakeImageOptions,
): Promise<StreamImage> {
  const inbox = newInbox(connection);
  const parts = connection.subscribe(inbox);
  let timer: NodeJS.Timeout | undefined;
  let failure: string | undefined;
  const fail = (reason: string): void => {
    failure ??= reason;
    parts.unsubscribe();
  };
  // What is sent while the connection is away is lost, and the last part has no number that would show it.
  watchConnection(connection, { onDown: () => fail("the connection was lost in the middle of the copy") });
  const expectMore = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => fail(`no part of the copy for ${SILENCE_MS} ms`), SILENCE_MS);
  };
  try {
    const image = await call<StreamImage>(connection, stream, "SNAPSHOT", {
      deliver_subject: inbox,
      no_consumers: !withConsumers,
      chunk_size: PART_BYTES,
      window_size: WINDOW_BYTES,
    });
    expectMore();
    let next = 1;
    for await (const { data, headers, reply } of parts) {
      if (data.length === 0) {
        // Without a header, or with 204, it is the end; with another code the server has given up.
        if (headers && headers.code !== NO_CONTENT) fail(`${headers.code} ${headers.description}`);
        break;
      }
      if (reply !== undefined && reply !== "") {
        const number = Number(reply.slice(reply.lastIndexOf(".") + 1));
        if (number !== next) fail(`part ${next} of the copy is missing`);
        next++;
      }
      await write(data);
      if (reply !== undefined && reply !== "") connection.publish(reply);
      expectMore();
    }
    if (failure !== undefined) throw streamUnavailable(stream, failure);
    return { config: image.config, state: image.state };
  } finally {
    clearTimeout(timer);
    parts.unsubscribe();
  }
}

const NO_CONTENT = 204;

/**
 * Makes a stream from a copy. There must be none of its name.
 * @param parts the bytes of the copy, in parts of any size that the server takes
 * @throws RepriseError `broker_unavailable` when the server refuses, or a cluster has lacked the servers for 20 s; a copy that is not whole leaves no stream, or an empty one
 */
export async function putImage(
  connection: NatsConnection,
  { config, state }: StreamImage,
  parts: AsyncIterable<Uint8Array>,
): Promise<StreamState> {
  const { name } = config;
  // Refused so, nothing has been made yet.
  const { deliver_subject } = await retryRejected(
    () => call<{ deliver_subject: string }>(connection, name, "RESTORE", { config, state }),
    (error) => isRefusal(error, "noSuitablePeers"),
    { pauseMs: PLACE_PAUSE_MS, budgetMs: PLACE_MS },
  );
  const made = await sendParts(connection, { stream: name, to: deliver_subject, parts });
  if (!made) throw streamUnavailable(name, "the server does not say what it has restored");
  return made.state;
}

/**
 * Sends the parts of a copy, each when the one before it was taken, and the mark of its end.
 * @param options `to`: the subject where a server takes them
 * @returns the answer to the mark
 * @throws RepriseError `broker_unavailable` when a part is not taken
 */
export async function sendParts(
  connection: NatsConnection,
  { stream, to, parts }: { stream: string; to: string; parts: AsyncIterable<Uint8Array> },
): Promise<{ readonly state: StreamState } | undefined> {
  const knownBy = performance.now() + KNOWN_MS;
  const send = async (part: Uint8Array, timeoutMs: number) => {
    const ask = () => inboxOf(connection).ask(to, part, timeoutMs);
    let reply = await ask();
    while (reply === "no_responders" && performance.now() < knownBy) {
      await pause(AGAIN_MS);
      reply = await ask();
    }
    if (typeof reply === "string") throw streamUnavailable(stream, reply, reply);
    return reply.data.length === 0 ? undefined : accepted<{ state: StreamState }>(stream, reply.json());
  };
  for await (const part of parts) await send(part, REQUEST_MS);
  return send(new Uint8Array(), FINISH_MS);
}

async function call<T extends object>(
  connection: NatsConnection,
  stream: string,
  name: "SNAPSHOT" | "RESTORE",
  request: object,
): Promise<T> {
  const subject = `$JS.API.STREAM.${name}.${stream}`;
  const reply = await inboxOf(connection).ask(subject, JSON.stringify(request), REQUEST_MS);
  if (typeof reply === "string") throw streamUnavailable(stream, reply, reply);
  return accepted(stream, reply.json<T & { readonly error?: ApiError }>());
}

function accepted<T extends object>(stream: string, answer: T & { readonly error?: ApiError }): T {
  const { error } = answer;
  if (!error) return answer;
  throw streamUnavailable(stream, `${error.err_code} ${error.description}`, new JetStreamApiError(error));
}
