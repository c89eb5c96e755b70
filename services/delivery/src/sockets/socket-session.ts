import { RepriseError, toErrorBody, toRepriseError } from "@reprise/protocol";
import type { InjectOptions } from "fastify";
import type { WebSocket } from "@fastify/websocket";
import {
  type Answer,
  BrokenOff,
  callApi,
  type Client,
  type Injecting,
  readBody,
  readEvents,
} from "../calls/api-call.ts";
import { OpenCall } from "../calls/open-call.ts";
import { GENERATION_ID_HEADER } from "../http/header-names.ts";
import { parseAudioFrame, parseClientFrame, SOCKET_CLOSES, SOCKET_LIMITS } from "./socket-frames.ts";
import { type CallFrame, toInputFrame, toRequest } from "./socket-request.ts";

export interface SessionOptions {
  readonly app: Injecting;
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
/** Milliseconds after which clients of a node that drains may come back: not all at once. */
const COME_BACK_MS = { least: 100, most: 2_000 };
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
  /** True if something was heard from the client, or sent to it, since the last ping. */
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
    socket.on("ping", (data: Buffer) => this.#pong(data));
    socket.on("pong", () => (this.#isAlive = true));
    // The connection closes after an error.
    socket.on("error", () => {});
    socket.on("close", () => this.#end());
    this.#send({ op: "ready", limits: SOCKET_LIMITS });
    if (draining.aborted) this.#drain();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const { socket } = this.#options;
    this.#isAlive = true;
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
        this.#startCall(frame);
    }
  }

  #takeAudio(data: Buffer): void {
    const frame = parseAudioFrame(data);
    const generation = this.#open.get(frame.stream)?.generation;
    if (generation !== undefined) return this.#startCall(toInputFrame(frame, generation));
    // The stream may have ended while the frame was under way.
    const error = new RepriseError("generation_not_found", `No stream has the id ${frame.stream}.`);
    this.#start(frame.id, new OpenCall(), (call) =>
      this.#answer(call, { id: frame.id, status: 404 }, JSON.stringify(toErrorBody(error))),
    );
  }

  #startCall(frame: CallFrame): void {
    const { id } = frame;
    const request = toRequest(frame);
    const call = new OpenCall(SOCKET_LIMITS.ahead_bytes);
    if (frame.op === "follow") {
      call.generation = frame.generation;
      call.cursor = frame.after ?? null;
    }
    this.#start(id, call, (_, client) => this.#call(id, call, request, client));
  }

  /** Runs a call when few enough others are under way. What `run` returns is the rest of a call that has been answered. */
  #start(id: number, call: OpenCall, run: (call: OpenCall, client: Client) => Promise<Rest>): void {
    const { draining, remoteAddress } = this.#options;
    const authorization = this.#authorization;
    if (authorization === undefined) return this.#close("unauthenticated", "the first frame must be auth");
    // The client has been told to connect again.
    if (draining.aborted) return;
    if (this.#open.has(id)) return this.#close("idInUse", `the id ${id} is in use`);
    if (this.#open.size === SOCKET_LIMITS.open)
      return this.#close("tooMany", `at most ${SOCKET_LIMITS.open} calls and streams may be open`);
    this.#open.set(id, call);
    this.#waiting.push(async () => {
      const rest = call.hasLeft ? undefined : await run(call, { authorization, remoteAddress });
      this.#calls--;
      this.#callNext();
      await rest?.();
      if (this.#open.get(id) === call) this.#open.delete(id);
      this.#closeIfDrained();
    });
    this.#callNext();
  }

  #callNext(): void {
    const { socket } = this.#options;
    for (; this.#calls < MAX_CALLS && this.#waiting.length > 0; this.#calls++) void this.#waiting.shift()!();
    if (this.#waiting.length > 0) socket.pause();
    else socket.resume();
  }

  async #call(id: number, call: OpenCall, request: InjectOptions, client: Client): Promise<Rest> {
    try {
      const answer = await callApi(this.#options.app, client, request);
      call.onLeave(() => answer.raw.res.destroy());
      const isStream = `${answer.headers["content-type"]}`.startsWith("text/event-stream");
      if (isStream && answer.statusCode < 300) return () => this.#stream(id, call, answer);
      const retryAfter = answer.headers["retry-after"];
      const head = {
        id,
        status: answer.statusCode,
        ...(retryAfter !== undefined && { retry_after: Number(retryAfter) }),
      };
      return await this.#answer(call, head, await readBody(answer));
    } catch (error) {
      return this.#broken(id, call, error);
    }
  }

  async #answer(call: OpenCall, head: object, body: string): Promise<undefined> {
    const frame = JSON.stringify({ op: "answer", ...head }).slice(0, -1);
    await this.#inTurn(call, () => this.#write(`${frame},"body":${body === "" ? "null" : body}}`));
  }

  /** Sends events as far as the client and its connection take them. Only a stream that is whole gets its `end`. */
  async #stream(id: number, call: OpenCall, answer: Answer): Promise<void> {
    if (call.hasLeft) return;
    call.generation ??= answer.headers[GENERATION_ID_HEADER.toLowerCase()] as string | undefined;
    this.#send({ op: "open", id, status: answer.statusCode, generation: call.generation });
    try {
      for await (const events of readEvents(answer)) {
        const list = events.map((one) => `{"cursor":${JSON.stringify(one.id)},"event":${one.data}}`).join();
        const sent = call.send(Buffer.byteLength(list));
        await this.#inTurn(call, () => {
          this.#write(`{"op":"events","id":${id},"sent":${sent},"events":[${list}]}`);
          call.cursor = events.at(-1)?.id ?? call.cursor;
        });
        await call.room();
        if (call.hasLeft) return;
      }
      this.#send({ op: "end", id });
    } catch (error) {
      this.#broken(id, call, error);
    }
  }

  #broken(id: number, call: OpenCall, thrown: unknown): undefined {
    if (call.hasLeft) return;
    const body = thrown instanceof BrokenOff ? thrown.body : toErrorBody(toRepriseError(thrown));
    this.#send({ op: "broken", id, cursor: call.cursor, ...body });
  }

  /** Calls `write`, unless the client leaves before the connection has room. */
  #inTurn(call: OpenCall, write: () => void): Promise<void> {
    const { socket } = this.#options;
    this.#lastWrite = this.#lastWrite.then(async () => {
      while (this.#isFull && socket.readyState === socket.OPEN)
        await new Promise<void>((resolve) => (this.#onRoom = resolve));
      if (!call.hasLeft) write();
    });
    return this.#lastWrite;
  }

  get #isFull(): boolean {
    return this.#options.socket.bufferedAmount > MAX_BUFFERED_BYTES;
  }

  #send(frame: object): void {
    this.#write(JSON.stringify(frame));
  }

  #write(frame: string): void {
    this.#options.socket.send(frame, () => {
      this.#isAlive = true;
      this.#onRoom();
    });
  }

  #ping(): void {
    const { socket } = this.#options;
    // A connection that is not read does not show that its client lives.
    if (!this.#isAlive && !socket.isPaused) return socket.terminate();
    this.#isAlive = false;
    socket.ping();
  }

  /** A client that pings and reads nothing gets no more pongs. */
  #pong(data: Buffer): void {
    if (!this.#isFull) this.#options.socket.pong(data);
  }

  /** Tells the client each stream's place and when to come back. Calls that are under way are answered first. */
  #drain(): void {
    const streams = [...this.#open].filter(([, { generation }]) => generation !== undefined);
    const cursors = Object.fromEntries(streams.map(([id, { cursor }]) => [id, cursor]));
    const { least, most } = COME_BACK_MS;
    const afterMs = Math.round(least + Math.random() * (most - least));
    this.#send({ op: "drain", after_ms: afterMs, cursors });
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

/** A stream that follows the head of an answer; undefined if the answer is complete. */
type Rest = (() => Promise<void>) | undefined;
