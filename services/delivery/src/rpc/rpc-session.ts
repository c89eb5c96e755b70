import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { InjectOptions } from "fastify";
import type { Injecting } from "../calls/api-call.ts";
import { changeRequest, toAudioEntry } from "../calls/api-request.ts";
import { OpenCall } from "../calls/open-call.ts";
import { drainingError } from "../readers/begin-stream.ts";
import { toConnectError, toProblem } from "./errors.ts";
import {
  type InputRequest,
  type ReadRequest,
  type ReadResponse,
  type SessionRequest,
  type SessionResponse,
  SessionResponseSchema,
} from "./generated/reprise/v1/reprise_pb.ts";
import { Outbox } from "./outbox.ts";
import { answerOf, beginReading, problemIn, problemOf, toRequest } from "./rpc-calls.ts";

export interface SessionPorts {
  readonly app: Injecting;
  readonly draining: AbortSignal;
}

/** Streams of one session at a time. */
const MAX_STREAMS = 1_000;
/** Milliseconds after which a session that has nothing to send sends a heartbeat: a client that is gone is found by it. */
const HEARTBEAT_MS = 15_000;

const END = { case: "end", value: {} } as const;

type Said = NonNullable<MessageInitShape<typeof SessionResponseSchema>["message"]>;

/**
 * Answers the messages of a session. Calls are made one after the other, in the order of their messages, and streams are read beside them. The client's next
 * message is read after the answer to the one before it, and a stream's next event after the client has taken the last: nothing piles up.
 */
export async function* answerSession(
  { app, draining }: SessionPorts,
  messages: AsyncIterable<SessionRequest>,
  context: HandlerContext,
): AsyncGenerator<SessionResponse> {
  const session = new Session(app, context);
  const leave = () => session.leave(context.signal.reason);
  const drain = () => void session.drain();
  context.signal.addEventListener("abort", leave);
  draining.addEventListener("abort", drain);
  if (draining.aborted) drain();
  try {
    void session.receive(messages);
    yield* session.outbox.take(HEARTBEAT_MS, () => create(SessionResponseSchema));
  } finally {
    context.signal.removeEventListener("abort", leave);
    draining.removeEventListener("abort", drain);
    session.leave();
  }
}

class Session {
  readonly outbox = new Outbox<SessionResponse>();
  readonly #app: Injecting;
  readonly #context: HandlerContext;
  readonly #open = new Map<number, OpenCall>();
  readonly #streams = new Set<Promise<void>>();
  #running: Promise<void> = Promise.resolve();

  constructor(app: Injecting, context: HandlerContext) {
    this.#app = app;
    this.#context = context;
  }

  /** Answers what the client sends. After its last message the session lasts until its last stream has ended. */
  async receive(messages: AsyncIterable<SessionRequest>): Promise<void> {
    try {
      for await (const message of messages) await (this.#running = this.#receive(message));
      await this.#streamsEnded();
      this.outbox.close();
    } catch (error) {
      this.outbox.close(error);
    }
  }

  /** Tells the client that the node stops, after its call was answered and its streams have been broken off. */
  async drain(): Promise<void> {
    await Promise.allSettled([this.#running, this.#streamsEnded()]);
    this.outbox.close(toConnectError(toProblem(drainingError())));
  }

  /** @param reason error with which the call ends, if its client is still there */
  leave(reason?: unknown): void {
    for (const call of this.#open.values()) call.leave();
    this.#open.clear();
    this.outbox.close(reason);
    this.outbox.abandon();
  }

  async #receive({ id, call }: SessionRequest): Promise<void> {
    if (id === 0) throw new ConnectError("id: ids begin with 1", Code.InvalidArgument);
    switch (call.case) {
      case "create":
        return this.#ask(id, toRequest.create(call.value));
      case "cancel":
        return this.#ask(id, toRequest.cancel(call.value));
      case "answerTool":
        return this.#ask(id, toRequest.answerTool(call.value));
      case "input":
        return this.#ask(id, toInputRequest(call.value));
      case "follow":
        return this.#follow(id, call.value);
      case "leave":
        return this.#leave(id);
      case undefined:
        throw new ConnectError("call: is missing, or unknown here", Code.InvalidArgument);
    }
  }

  async #ask(id: number, request: InjectOptions): Promise<void> {
    const { answer, body } = await answerOf(this.#app, request, this.#context);
    if (answer.statusCode === 401) throw toConnectError(problemOf(answer, body));
    await this.#send(
      id,
      answer.statusCode < 400
        ? { case: "answerJson", value: body }
        : { case: "problem", value: problemOf(answer, body) },
    );
  }

  /** Resolves when the stream has begun. */
  async #follow(id: number, message: ReadRequest): Promise<void> {
    if (this.#open.has(id)) throw new ConnectError(`id: ${id} is in use`, Code.InvalidArgument);
    if (this.#streams.size === MAX_STREAMS)
      throw new ConnectError(`at most ${MAX_STREAMS} streams may be open`, Code.ResourceExhausted);
    const call = new OpenCall();
    this.#open.set(id, call);
    const begun = beginReading(this.#app, { call, message, context: this.#context });
    const stream = this.#stream(id, call, begun).finally(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    await Promise.allSettled([begun]);
  }

  /** The end tells the client that nothing more comes under the id. */
  async #leave(id: number): Promise<void> {
    const call = this.#open.get(id);
    if (!call) return;
    call.leave();
    this.outbox.drop(call);
    this.#open.delete(id);
    await this.#send(id, END);
  }

  async #stream(id: number, call: OpenCall, begun: Promise<AsyncIterable<ReadResponse>>): Promise<void> {
    const end = await this.#read(id, call, begun);
    if (call.hasLeft) return;
    this.#open.delete(id);
    await this.#send(id, end);
  }

  async #read(id: number, call: OpenCall, begun: Promise<AsyncIterable<ReadResponse>>): Promise<Said> {
    try {
      for await (const value of await begun) {
        await this.#send(id, { case: "event", value }, call);
        if (call.hasLeft) break;
      }
      return END;
    } catch (thrown) {
      return { case: "problem", value: problemIn(thrown) };
    }
  }

  #send(id: number, message: Said, owner?: OpenCall): Promise<void> {
    return this.outbox.put(create(SessionResponseSchema, { id, message }), owner);
  }

  async #streamsEnded(): Promise<void> {
    await Promise.all(this.#streams);
  }
}

function toInputRequest({ generation, first, entries }: InputRequest): InjectOptions {
  const list =
    entries.case === "audio" ? JSON.stringify([toAudioEntry(entries.value)]) : (entries.value ?? "[]");
  return changeRequest(generation, "input", `{"first":${first},"entries":${list}}`);
}
