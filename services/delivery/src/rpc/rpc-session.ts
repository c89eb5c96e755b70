import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { toRepriseError } from "@reprise/protocol";
import type { InjectOptions } from "fastify";
import type { Injecting } from "../calls/api-call.ts";
import { changeRequest, toAudioEntry } from "../calls/api-request.ts";
import { OpenCall } from "../calls/open-call.ts";
import { drainingError } from "../readers/begin-stream.ts";
import { toConnectError, toProblem } from "./errors.ts";
import {
  type InputRequest,
  type ReadRequest,
  type SessionRequest,
  type SessionResponse,
  SessionResponseSchema,
} from "./generated/reprise/v1/reprise_pb.ts";
import { Outbox } from "./outbox.ts";
import { answerOf, problemOf, readGeneration, StreamProblem, toRequest } from "./rpc-calls.ts";

export interface SessionPorts {
  readonly app: Injecting;
  readonly draining: AbortSignal;
}

/** Streams of one session at a time. */
const MAX_STREAMS = 1_000;
/** Milliseconds after which a session that has nothing to send sends a heartbeat: a client that is gone is found by it. */
const HEARTBEAT_MS = 15_000;

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
  const leave = () => session.leave();
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
    leave();
  }
}

class Session {
  readonly outbox = new Outbox<SessionResponse>();
  readonly #app: Injecting;
  readonly #context: HandlerContext;
  readonly #open = new Map<number, OpenCall>();
  readonly #streams = new Set<Promise<void>>();

  constructor(app: Injecting, context: HandlerContext) {
    this.#app = app;
    this.#context = context;
  }

  /** Answers what the client sends. After its last message the session lasts until its last stream has ended. */
  async receive(messages: AsyncIterable<SessionRequest>): Promise<void> {
    try {
      for await (const message of messages) await this.#receive(message);
      await this.#streamsEnded();
      this.outbox.close();
    } catch (error) {
      this.outbox.close(error);
    }
  }

  /** Tells the client that the node stops, after its streams have been broken off. */
  async drain(): Promise<void> {
    await this.#streamsEnded();
    this.outbox.close(toConnectError(toProblem(drainingError())));
  }

  leave(): void {
    for (const call of this.#open.values()) call.leave();
    this.#open.clear();
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
        this.#open.get(id)?.leave();
        this.#open.delete(id);
        return;
      case undefined:
        throw new ConnectError("call: is missing, or unknown here", Code.InvalidArgument);
    }
  }

  async #ask(id: number, request: InjectOptions): Promise<void> {
    const { answer, body } = await answerOf(this.#app, request, this.#context);
    await this.#send(
      id,
      answer.statusCode < 400
        ? { case: "answerJson", value: body }
        : { case: "problem", value: problemOf(answer, body) },
    );
  }

  #follow(id: number, message: ReadRequest): void {
    if (this.#open.has(id)) throw new ConnectError(`id: ${id} is in use`, Code.InvalidArgument);
    if (this.#open.size === MAX_STREAMS)
      throw new ConnectError(`at most ${MAX_STREAMS} streams may be open`, Code.ResourceExhausted);
    const call = new OpenCall();
    this.#open.set(id, call);
    const stream = this.#stream(id, call, message).finally(() => this.#streams.delete(stream));
    this.#streams.add(stream);
  }

  async #stream(id: number, call: OpenCall, message: ReadRequest): Promise<void> {
    const end = await this.#read(id, call, message);
    if (this.#open.get(id) === call) this.#open.delete(id);
    if (!call.hasLeft) await this.#send(id, end);
  }

  async #read(id: number, call: OpenCall, message: ReadRequest): Promise<Said> {
    try {
      const reading = { call, message, context: this.#context };
      for await (const value of readGeneration(this.#app, reading)) {
        await this.#send(id, { case: "event", value });
        if (call.hasLeft) break;
      }
      return { case: "end", value: {} };
    } catch (thrown) {
      const isTold = thrown instanceof StreamProblem;
      return { case: "problem", value: isTold ? thrown.problem : toProblem(toRepriseError(thrown)) };
    }
  }

  #send(id: number, message: Said): Promise<void> {
    return this.outbox.put(create(SessionResponseSchema, { id, message }));
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
