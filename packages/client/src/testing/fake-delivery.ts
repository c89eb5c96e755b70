import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createFakeTools } from "./fake-tools.ts";
import { encodeFrame, FAKE_ID, generationOf, seqOfCursor } from "./fake-log.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";

/** Fault of one request. Data, so that tests can draw them. */
export type Fault =
  /** No fault. */
  | { kind: "none" }
  /** The socket is destroyed after this number of bytes of the body. */
  | { kind: "cut"; afterBytes: number }
  /** A clean end after this number of events. */
  | { kind: "end"; afterEvents: number }
  /** Begins this number of events before the cursor. */
  | { kind: "repeat"; events: number }
  /** Leaves out this number of events after the cursor. */
  | { kind: "skip"; events: number }
  /** Another answer altogether. */
  | { kind: "answer"; status: number; headers?: Record<string, string>; body?: string }
  /** An error frame after this number of events, then a broken connection. */
  | { kind: "error_frame"; afterEvents: number; body: string }
  /** These lines before the first frame. */
  | { kind: "preface"; lines: string }
  /** No headers, ever. */
  | { kind: "silent" }
  /** Silence after this number of events. */
  | { kind: "stall"; afterEvents: number };

export interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface FakeDelivery extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Connections to an event stream that are open now. */
  readonly openStreams: number;
  nextRequest(): Promise<ReceivedRequest>;
  /** Resolves when a stream's connection has closed. */
  nextClose(): Promise<void>;
}

export interface FakeDeliveryOptions {
  log: readonly StreamEvent[];
  /** The n-th request meets the n-th fault; those after the last meet none. */
  faults?: readonly Fault[];
  /** True if an answer to a create names the generation. Default true. */
  tellsId?: boolean;
  /** True if the log is sent only as far as its tool calls are answered. Default false: all of it is written already. */
  awaitsTools?: boolean;
}

/** One generation's delivery service over real HTTP, as PROTOCOL.md has it, that misbehaves by the book of its test. */
export async function startFakeDelivery({
  log,
  faults = [],
  tellsId = true,
  awaitsTools = false,
}: FakeDeliveryOptions): Promise<FakeDelivery> {
  const requests: ReceivedRequest[] = [];
  const requestWaiters: ((request: ReceivedRequest) => void)[] = [];
  const closeWaiters: (() => void)[] = [];
  const tools = createFakeTools(log, awaitsTools);
  let openStreams = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const received = { method, url, headers, body: await text(request) };
    const fault = faults[requests.push(received) - 1] ?? { kind: "none" };
    for (const resolve of requestWaiters.splice(0)) resolve(received);
    if (fault.kind === "silent") return;
    if (fault.kind === "answer") {
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    if (tellsId) response.setHeader("Reprise-Generation-Id", FAKE_ID);
    if (headers.accept === "text/event-stream") return stream(received, response, fault);
    const refusal = url.endsWith("/tool-results") ? tools.take(callIdOf(received)) : undefined;
    if (refusal) answerError(response, refusal);
    else
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(generationOf(log)));
  }

  async function stream(
    { url, headers }: ReceivedRequest,
    response: ServerResponse,
    fault: Fault,
  ): Promise<void> {
    const after = new URL(url, "http://fake").searchParams.get("after");
    const seq = seqOfCursor(headers["last-event-id"]?.toString() ?? after);
    if (seq >= log.length) {
      response.writeHead(204).end();
      return;
    }
    openStreams++;
    response.on("close", () => {
      openStreams--;
      for (const resolve of closeWaiters.splice(0)) resolve();
    });
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders();
    if (awaitsTools && fault.kind === "none") await follow(response, seq);
    else await send(response, log, seq, fault);
  }

  async function follow(response: ServerResponse, seq: number): Promise<void> {
    for (let next = seq; next < log.length;) {
      const events = tools.readable(next);
      next += events.length;
      response.write(events.map(encodeFrame).join(""));
      if (next < log.length) await tools.more();
    }
    response.end();
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get openStreams() {
      return openStreams;
    },
    nextRequest: () => new Promise((resolve) => requestWaiters.push(resolve)),
    nextClose: () => new Promise((resolve) => closeWaiters.push(resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function callIdOf({ body }: ReceivedRequest): string {
  return (JSON.parse(body) as { call_id: string }).call_id;
}

function answerError(response: ServerResponse, code: "tool_result_conflict" | "tool_call_not_found"): void {
  const error = { code, message: "No.", param: "call_id", retryable: false };
  response.writeHead(code === "tool_result_conflict" ? 409 : 404).end(JSON.stringify({ error }));
}

async function send(
  response: ServerResponse,
  log: readonly StreamEvent[],
  seq: number,
  fault: Fault,
): Promise<void> {
  const frames = (from: number, count?: number): Buffer =>
    Buffer.from(
      log
        .slice(from, count === undefined ? undefined : from + count)
        .map(encodeFrame)
        .join(""),
    );
  const write = (bytes: Buffer | string): Promise<void> =>
    new Promise((resolve) => response.write(bytes, () => resolve()));

  switch (fault.kind) {
    case "cut":
      await write(frames(seq).subarray(0, fault.afterBytes));
      response.destroy();
      return;
    case "end":
      response.end(frames(seq, fault.afterEvents));
      return;
    case "repeat":
      response.end(frames(Math.max(0, seq - fault.events)));
      return;
    case "skip":
      response.end(frames(seq + fault.events));
      return;
    case "error_frame":
      await write(frames(seq, fault.afterEvents));
      await write(`event: error\ndata: ${fault.body}\n\n`);
      response.destroy();
      return;
    case "preface":
      await write(fault.lines);
      response.end(frames(seq));
      return;
    case "stall":
      await write(frames(seq, fault.afterEvents));
      return;
    default:
      response.end(frames(seq));
  }
}
