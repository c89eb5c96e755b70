import type { Readable } from "node:stream";
import { createSseDecoder, type SseMessage } from "@reprise/protocol";
import type { FastifyInstance, InjectOptions } from "fastify";
import { BROKEN_OFF } from "../readers/streams/sse-socket.ts";

export type Injecting = Pick<FastifyInstance, "inject">;

/** Who makes a call, as its connection says. */
export interface Client {
  readonly authorization: string;
  readonly remoteAddress: string;
}

/** Answer to a call whose body is still to be read. */
export type Answer = Awaited<ReturnType<Injecting["inject"]>> & { stream(): Readable };

/** Makes a call of another transport as an HTTP request to the same node, so that it has the same checks, limits and errors. */
export function callApi(app: Injecting, client: Client, request: InjectOptions): Promise<Answer> {
  const { authorization, remoteAddress } = client;
  const headers = { ...request.headers, authorization };
  return app.inject({ ...request, headers, remoteAddress, payloadAsStream: true });
}

export async function readBody(answer: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.stream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Yields a stream's events as they come; a list without one is a heartbeat. Returns only at the end of a stream that is whole.
 * @throws BrokenOff
 */
export async function* readEvents(answer: Answer): AsyncGenerator<readonly SseMessage[]> {
  const decoder = createSseDecoder();
  for await (const chunk of answer.stream()) {
    const messages = decoder.push(chunk as Buffer);
    const error = messages.find(({ event }) => event === "error" || event === BROKEN_OFF);
    const events = messages.filter(({ event }) => event === "message");
    if (events.length > 0 || !error) yield events;
    if (error) throw new BrokenOff(JSON.parse(error.data) as object);
  }
}

/** Thrown for a stream that was broken off, with the body of the error that it ended with; `{}` if it had none. */
export class BrokenOff extends Error {
  readonly body: object;

  constructor(body: object) {
    super("The stream was broken off.");
    this.body = body;
  }
}
