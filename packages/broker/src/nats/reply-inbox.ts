import { randomUUID } from "node:crypto";
import { type Msg, type NatsConnection } from "@nats-io/transport-node";
import type { Forbidden } from "../access/forbidden.ts";
import { newInbox } from "../access/inbox-prefix.ts";
import { watchConnection } from "./watch-connection.ts";

/** Why no (further) reply comes: no responders, the deadline passed, the connection is down, or this user may not publish the request. */
export type NoReply = "no_responders" | "timeout" | "disconnected" | "forbidden";

/** Handles one reply, or its absence. Returns whether more replies are expected; after a NoReply none are. */
export type ReplyHandler = (reply: Msg | NoReply) => boolean;

interface Waiting {
  subject: string;
  handler: ReplyHandler;
  deadline: number;
}

/**
 * Request and reply over one wildcard subscription, without a promise, timer or subscription per request. Unlike the
 * client's own `request` it fails what is in flight as soon as the connection is lost, and sends nothing while it is down:
 * the client would silently drop it.
 *
 * A process that answers one request knows the subject of this inbox, and the broker answers any reply subject that a request names. So each
 * request has a random token: an answer to another request can't be forged.
 */
export class ReplyInbox {
  readonly #connection: NatsConnection;
  readonly #prefix: string;
  readonly #waiting = new Map<string, Waiting>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #onError: (error: unknown) => void;
  #connected = true;

  constructor(connection: NatsConnection, onError: (error: unknown) => void) {
    this.#connection = connection;
    this.#onError = onError;
    this.#prefix = `${newInbox(connection)}.`;
    connection.subscribe(`${this.#prefix}*`, { callback: (error, msg) => this.#receive(error, msg) });
    watchConnection(connection, {
      onDown: () => this.#disconnect(),
      onUp: () => (this.#connected = true),
      onForbidden: (forbidden) => this.#forbid(forbidden),
    });
    this.#sweeper = setInterval(() => this.#sweep(performance.now()), SWEEP_MS);
    this.#sweeper.unref();
  }

  get connected(): boolean {
    return this.#connected;
  }

  /**
   * Sends a request; `handler` is called for each reply, or once with the reason why there is none. What it throws goes to `onError`.
   * @throws what the client throws for a request that it can't send: one larger than `max_payload`, a malformed subject
   */
  request(
    subject: string,
    payload: Uint8Array | string,
    { timeoutMs, headers, handler }: { timeoutMs: number; headers?: RequestHeaders; handler: ReplyHandler },
  ): void {
    if (!this.#connected || this.#connection.isClosed() || this.#connection.isDraining()) {
      handler("disconnected");
      return;
    }
    const token = randomUUID();
    const reply = this.#prefix + token;
    this.#connection.publish(subject, payload, headers === undefined ? { reply } : { reply, headers });
    this.#waiting.set(token, { subject, handler, deadline: performance.now() + timeoutMs });
  }

  /** One request and its one reply. */
  ask(subject: string, payload: Uint8Array | string, timeoutMs: number): Promise<Msg | NoReply> {
    return new Promise((resolve) => {
      const handler: ReplyHandler = (reply) => {
        resolve(reply);
        return false;
      };
      this.request(subject, payload, { timeoutMs, handler });
    });
  }

  close(): void {
    clearInterval(this.#sweeper);
    this.#disconnect();
  }

  // An exception here would kill the connection's read loop, so nothing may escape.
  #receive(error: Error | null, msg: Msg): void {
    if (error) return this.#onError(error);
    const token = msg.subject.slice(this.#prefix.length);
    const waiting = this.#waiting.get(token);
    if (!waiting) return;
    const isUnheard = msg.data.length === 0 && msg.headers?.code === 503;
    this.#settle(token, waiting, isUnheard ? "no_responders" : msg);
  }

  #settle(token: string, { handler }: Waiting, reply: Msg | NoReply): void {
    let more = false;
    try {
      more = handler(reply);
    } catch (error) {
      this.#onError(error);
    }
    if (!more || typeof reply === "string") this.#waiting.delete(token);
  }

  #disconnect(): void {
    this.#connected = false;
    for (const [token, waiting] of this.#waiting) this.#settle(token, waiting, "disconnected");
  }

  /** The broker names the subject, not the request: all that wait for an answer from there were refused. */
  #forbid({ operation, subject }: Forbidden): void {
    if (operation !== "publish") return;
    for (const [token, waiting] of this.#waiting)
      if (waiting.subject === subject) this.#settle(token, waiting, "forbidden");
  }

  #sweep(now: number): void {
    for (const [token, waiting] of this.#waiting) {
      if (waiting.deadline <= now) this.#settle(token, waiting, "timeout");
    }
  }
}

const inboxes = new WeakMap<NatsConnection, ReplyInbox>();

/**
 * The inbox that all requests over a connection share. It is closed with the connection.
 * @param onError told that the broker forbids the subscription, after which every request times out, and what handlers throw. That of the
 *   first call counts
 */
export function inboxOf(
  connection: NatsConnection,
  onError: (error: unknown) => void = () => {},
): ReplyInbox {
  let inbox = inboxes.get(connection);
  if (!inbox) {
    const created = new ReplyInbox(connection, onError);
    void connection.closed().then(() => created.close());
    inboxes.set(connection, created);
    inbox = created;
  }
  return inbox;
}

/**
 * Asks again after a timeout: a server that hangs takes its share of the requests along, and the next try may reach another one. No
 * responders, or no connection, is an answer.
 * @param triesMs how long to wait for an answer, for each try
 */
export async function untilAnswered<T extends object>(
  triesMs: readonly number[],
  ask: (timeoutMs: number) => Promise<T | NoReply>,
): Promise<T | NoReply> {
  let answer: T | NoReply = "timeout";
  for (const timeoutMs of triesMs) {
    answer = await ask(timeoutMs);
    if (answer !== "timeout") break;
  }
  return answer;
}

type RequestHeaders = NonNullable<NonNullable<Parameters<NatsConnection["publish"]>[2]>["headers"]>;

const SWEEP_MS = 100;
