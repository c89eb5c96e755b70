import { create } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { raceAbort } from "@reprise/async";
import { type ErrorBody, type SseMessage, toRepriseError } from "@reprise/protocol";
import type { InjectOptions } from "fastify";
import {
  type Answer,
  BrokenOff,
  callApi,
  type Client,
  type Injecting,
  readBody,
  readEvents,
} from "../calls/api-call.ts";
import { changeRequest, createRequest, eventsRequest, generationRequest } from "../calls/api-request.ts";
import { OpenCall } from "../calls/open-call.ts";
import { drainingError } from "../readers/begin-stream.ts";
import { parseProblem, toConnectError, toProblem } from "./errors.ts";
import {
  type AnswerToolRequest,
  type CancelRequest,
  type CreateRequest,
  type Generations,
  type Problem,
  type ReadRequest,
  type ReadResponse,
  ReadResponseSchema,
} from "./generated/reprise/v1/reprise_pb.ts";

/** The client of a call. */
export const CLIENT = createContextKey<Client>({ authorization: "", remoteAddress: "" });

/** HTTP requests of messages. */
export const toRequest = {
  create: ({ requestJson, idempotencyKey }: CreateRequest) =>
    createRequest(requestJson, { idempotencyKey: idempotencyKey || undefined }),
  cancel: ({ generation, reason }: CancelRequest) =>
    changeRequest(generation, "cancel", reason === "" ? {} : { reason }),
  answerTool: ({ generation, resultJson }: AnswerToolRequest) =>
    changeRequest(generation, "tool-results", resultJson),
  read: ({ generation, after }: ReadRequest) => eventsRequest(generation, after || undefined),
};

/** The calls that have one answer, and `Read`. */
export function createCalls(app: Injecting): Omit<ServiceImpl<typeof Generations>, "session"> {
  const ask = async (request: InjectOptions, context: HandlerContext, generation?: string) => {
    const { answer, body } = await raceAbort(answerOf(app, request, context), context.signal);
    if (answer.statusCode >= 400) throw toConnectError(problemOf(answer, body));
    return { id: generation ?? `${answer.headers.location}`.split("/").at(-1)!, generationJson: body };
  };
  return {
    create: (message, context) => ask(toRequest.create(message), context),
    get: ({ generation }, context) => ask(generationRequest(generation), context, generation),
    cancel: (message, context) => ask(toRequest.cancel(message), context, message.generation),
    answerTool: (message, context) => ask(toRequest.answerTool(message), context, message.generation),
    async *read(message, context) {
      const { signal } = context;
      const call = new OpenCall();
      const leave = () => call.leave();
      signal.addEventListener("abort", leave);
      let cursor = message.after;
      try {
        const events = await raceAbort(beginReading(app, { call, message, context }), signal);
        for await (const event of raceEach(events, signal)) {
          cursor = event.cursor || cursor;
          yield event;
        }
      } catch (thrown) {
        throw thrown instanceof StreamProblem ? toConnectError(thrown.problem, cursor) : thrown;
      } finally {
        signal.removeEventListener("abort", leave);
        leave();
      }
    },
  };
}

/** Yields values until a signal aborts. @throws the signal's reason */
async function* raceEach<T>(values: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = values[Symbol.asyncIterator]();
  for (;;) {
    const result = await raceAbort(iterator.next(), signal);
    if (result.done) return;
    yield result.value;
  }
}

/** Thrown if a generation can't be read, or its stream is broken off. */
class StreamProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Returns what has ended a stream. */
export function problemIn(thrown: unknown): Problem {
  return thrown instanceof StreamProblem ? thrown.problem : toProblem(toRepriseError(thrown));
}

interface Reading {
  readonly call: OpenCall;
  readonly message: ReadRequest;
  readonly context: HandlerContext;
}

/**
 * Resolves when a stream has begun, with the events of a generation to its end, and a message without one for a heartbeat.
 * @throws StreamProblem, as does the iteration
 */
export async function beginReading(
  app: Injecting,
  { call, message, context }: Reading,
): Promise<AsyncIterable<ReadResponse>> {
  const answer = await callApi(app, context.values.get(CLIENT), toRequest.read(message));
  call.onLeave(() => answer.raw.res.destroy());
  if (answer.statusCode >= 400) throw new StreamProblem(problemOf(answer, await readBody(answer)));
  return readGeneration(answer, call);
}

async function* readGeneration(answer: Answer, call: OpenCall): AsyncGenerator<ReadResponse> {
  try {
    for await (const events of readEvents(answer)) {
      if (call.hasLeft) return;
      if (events.length === 0) yield create(ReadResponseSchema);
      for (const event of events) yield toReadResponse(event);
    }
  } catch (thrown) {
    if (!(thrown instanceof BrokenOff)) throw thrown;
    // Only a node that drains gives no error.
    const isTold = "error" in thrown.body;
    throw new StreamProblem(isTold ? parseProblem(thrown.body as ErrorBody) : toProblem(drainingError()));
  }
}

/** The whole answer to a call. */
export async function answerOf(app: Injecting, request: InjectOptions, { values }: HandlerContext) {
  const answer = await callApi(app, values.get(CLIENT), request);
  return { answer, body: await readBody(answer) };
}

export function problemOf({ headers }: Answer, body: string): Problem {
  return parseProblem(JSON.parse(body) as ErrorBody, headers["retry-after"]);
}

function toReadResponse({ id: cursor, data: eventJson }: SseMessage): ReadResponse {
  const { seq } = JSON.parse(eventJson) as { seq: number };
  return create(ReadResponseSchema, { cursor, seq: BigInt(seq), eventJson });
}
