import type { Readable } from "node:stream";
import {
  createSseDecoder,
  parseAudioFrame,
  parseClientFrame,
  RepriseError,
  SOCKET_CLOSES,
  SOCKET_LIMITS,
  toErrorBody,
  toRepriseError,
} from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import type { WebSocket } from "@fastify/websocket";
import { GENERATION_ID_HEADER } from "../http/header-names.ts";
import { BROKEN_OFF } from "../readers/streams/sse-socket.ts";
import { OpenCall } from "./open-call.ts";
import { type CallFrame, toInputFrame, toRequest } from "./socket-request.ts";

export interface SessionOptions {
  readonly app: Pick<FastifyInstance, "inject">;
  readonly socket: WebSocket;
  /** `Authorization` of the upgrade; undefined if the first frame has to bring it. */
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  readonly draining: AbortSignal;
}

/** Bytes that wait in a connection whose client reads slowly. Its answers and streams pause then. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Calls without an answer. The connection is read no further then. */
const MAX_CALLS = 32;
/** Milliseconds between two pings. */
const PING_MS = 30_000;
/** Milliseconds after which a client of a node that drains may come back. */
const DRAIN_AFTER_MS = 1_000;
/** Bytes of the reason in a close frame. */
const MAX_REASON_BYTES = 123;

/**
 * One WebSocket connection: calls of the HTTP API with their answers and event streams, under ids that the client chooses. Each call is made as an HTTP request to
 * the same node, so that it has the same checks, limits and errors.
 */
export class SocketSession {
  readonly #options: SessionOptions;
  readonly #open = new Map<number, OpenCall>();
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #owned = new DisposableStack();
  #calls = 0;
  #authorization: string | undefined;
  #isAlive = true;
  #onRoom: () => void = () => {};
  /** The last write that waits for room: the next one follows it. */
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#authorization = options.authorization;
  }

  begin(): void {
    const { socket, draining } = this.#options;
    const auth = setTimeout(() => {
      if (this.#authorization === undefined) this.#close("unauthenticated", "no key was sent in time");
    }, SOCKET_LIMITS.auth_ms);
    const ping = setInterval(() => this.#ping(), PING_MS);
    const drain = () => this.#drain();
    draining.addEventListener("abort", drain);
    this.#owned.defer(() => clearTimeout(auth));
    this.#owned.defer(() => clearInterval(ping));
    this.#owned.defer(() => draining.removeEventListener("abort", drain));
    socket.on("message", (data: Buffer, isBinary: boolean) => this.#receive(data, isBinary));
    socket.on("pong", () => (this.#isAlive = true));
    // The connection closes after an error.
    socket.on("error", () => {});
    socket.on("close", () => this.#end());
    this.#send({ op: "ready", limits: SOCKET_LIMITS });
    if (draining.aborted) this.#drain();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const { socket } = this.#options;
    if (socket.readyState !== socket.OPEN) return;
    try {
      if (isBinary) this.#takeAudio(data);
      else this.#take(data.toString("utf8"));
    } catch (error) {
      this.#close("badFrame", toRepriseError(error).message);
    }
  }

  #take(text: string): void {
    const frame = parseClientFrame(text);
    switch (frame.op) {
      case "auth":
        this.#authorization = `Bearer ${frame.token}`;
        return;
      case "read":
        this.#open.get(frame.id)?.read(frame.sent);
        return;
      case "leave":
        this.#open.get(frame.id)?.leave();
        this.#open.delete(frame.id);
        return;
      default:
        this.#start(frame);
    }
  }

  #takeAudio(data: Buffer): void {
    const frame = parseAudioFrame(data);
    const generation = this.#open.get(frame.stream)?.generation;
    if (generation !== undefined) return this.#start(toInputFrame(frame, generation));
    // The stream may have ended while the frame was under way.
    const error = new RepriseError("generation_not_found", `No stream has the id ${frame.stream}.`);
    this.#send({ op: "answer", id: frame.id, status: 404, body: toErrorBody(error) });
  }

  #start(frame: CallFrame): void {
    const { id } = frame;
    const authorization = this.#authorization;
    if (authorization === undefined) return this.#close("unauthenticated", "the first frame must be auth");
    if (this.#open.has(id)) return this.#close("idInUse", `the id ${id} is in use`);
    if (this.#open.size === SOCKET_LIMITS.open)
      return this.#close("tooMany", `at most ${SOCKET_LIMITS.open} calls and streams may be open`);
    const call = new OpenCall(SOCKET_LIMITS.ahead_bytes);
    if (frame.op === "follow") call.generation = frame.generation;
    this.#open.set(id, call);
    this.#waiting.push(() => this.#call(id, call, toRequest(frame, authorization)));
    this.#callNext();
  }

  #callNext(): void {
    const { socket } = this.#options;
    for (; this.#calls < MAX_CALLS && this.#waiting.length > 0; this.#calls++) void this.#waiting.shift()!();
    if (this.#waiting.length > 0) socket.pause();
    else socket.resume();
  }

  async #call(id: number, call: OpenCall, request: ReturnType<typeof toRequest>): Promise<void> {
    const { app, remoteAddress } = this.#options;
    let streamed: Answer | undefined;
    try {
      if (call.hasLeft) return;
      const answer = await app.inject({ ...request, remoteAddress, payloadAsStream: true });
      call.onLeave(() => answer.raw.res.destroy());
      const isStream = `${answer.headers["content-type"]}`.startsWith("text/event-stream");
      if (isStream && answer.statusCode < 300) streamed = answer;
      else await this.#answer(id, call, answer);
    } catch (error) {
      this.#broken(id, call, error);
    } finally {
      this.#calls--;
      this.#callNext();
      if (streamed) await this.#stream(id, call, streamed);
      if (this.#open.get(id) === call) this.#open.delete(id);
      this.#closeIfDrained();
    }
  }

  async #answer(id: number, call: OpenCall, answer: Answer): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of answer.stream()) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const retryAfter = answer.headers["retry-after"];
    const head = {
      op: "answer",
      id,
      status: answer.statusCode,
      ...(retryAfter !== undefined && { retry_after: Number(retryAfter) }),
    };
    const frame = `${JSON.stringify(head).slice(0, -1)},"body":${body === "" ? "null" : body}}`;
    await this.#inTurn(call, () => this.#write(frame));
  }

  /** Sends events as far as the client and its connection take them. Only a stream that is whole gets its `end`. */
  async #stream(id: number, call: OpenCall, answer: Answer): Promise<void> {
    call.generation ??= answer.headers[GENERATION_ID_HEADER.toLowerCase()] as string | undefined;
    this.#send({ op: "open", id, status: answer.statusCode, generation: call.generation });
    const decoder = createSseDecoder();
    try {
      for await (const chunk of answer.stream()) {
        const messages = decoder.push(chunk as Buffer);
        if (call.hasLeft) return;
        const error = messages.find(({ event }) => event === "error" || event === BROKEN_OFF);
        const events = messages.filter(({ event }) => event === "message");
        // A heartbeat of the stream is a frame without events.
        if (events.length > 0 || !error) {
          const list = events.map((one) => `{"cursor":${JSON.stringify(one.id)},"event":${one.data}}`).join();
          const sent = call.send(Buffer.byteLength(list));
          await this.#inTurn(call, () => {
            this.#write(`{"op":"events","id":${id},"sent":${sent},"events":[${list}]}`);
            call.cursor = events.at(-1)?.id ?? call.cursor;
          });
        }
        if (error) throw new BrokenOff(JSON.parse(error.data) as object);
        await call.room();
      }
      if (!call.hasLeft) this.#send({ op: "end", id });
    } catch (error) {
      this.#broken(id, call, error);
    }
  }

  #broken(id: number, call: OpenCall, thrown: unknown): void {
    if (call.hasLeft) return;
    const body = thrown instanceof BrokenOff ? thrown.body : toErrorBody(toRepriseError(thrown));
    this.#send({ op: "broken", id, cursor: call.cursor, ...body });
  }

  /** Calls `write`, unless the client leaves before the connection has room. */
  #inTurn(call: OpenCall, write: () => void): Promise<void> {
    const { socket } = this.#options;
    this.#lastWrite = this.#lastWrite.then(async () => {
      while (socket.bufferedAmount > MAX_BUFFERED_BYTES && socket.readyState === socket.OPEN)
        await new Promise<void>((resolve) => (this.#onRoom = resolve));
      if (!call.hasLeft) write();
    });
    return this.#lastWrite;
  }

  #send(frame: object): void {
    this.#write(JSON.stringify(frame));
  }

  #write(frame: string): void {
    this.#options.socket.send(frame, () => this.#onRoom());
  }

  #ping(): void {
    const { socket } = this.#options;
    if (!this.#isAlive) return socket.terminate();
    this.#isAlive = false;
    socket.ping();
  }

  /** Tells the client each stream's place and when to come back. Calls that are under way are answered first. */
  #drain(): void {
    const streams = [...this.#open].filter(([, { generation }]) => generation !== undefined);
    const cursors = Object.fromEntries(streams.map(([id, { cursor }]) => [id, cursor]));
    this.#send({ op: "drain", after_ms: DRAIN_AFTER_MS, cursors });
    for (const [id, call] of streams) {
      call.leave();
      this.#open.delete(id);
    }
    this.#closeIfDrained();
  }

  #closeIfDrained(): void {
    if (this.#options.draining.aborted && this.#open.size === 0) this.#close("draining", "the node drains");
  }

  #close(why: keyof typeof SOCKET_CLOSES, reason: string): void {
    const bytes = Buffer.from(reason).subarray(0, MAX_REASON_BYTES);
    // A character that is cut becomes three bytes long.
    this.#options.socket.close(SOCKET_CLOSES[why], bytes.toString("utf8").replace(/\uFFFD$/, ""));
    this.#end();
  }

  #end(): void {
    this.#owned.dispose();
    this.#waiting.length = 0;
    for (const call of this.#open.values()) call.leave();
    this.#open.clear();
    this.#onRoom();
  }
}

type Answer = Awaited<ReturnType<SessionOptions["app"]["inject"]>> & { stream(): Readable };

/** Thrown for a stream that was broken off, with the body of the error that it ended with. */
class BrokenOff extends Error {
  readonly body: object;

  constructor(body: object) {
    super("The stream was broken off.");
    this.body = body;
  }
}
