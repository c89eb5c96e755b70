import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ServerAnswer {
  /** Default 200. */
  readonly status?: number;
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Before the answer. A promise that never resolves is silence. */
  readonly after?: Promise<unknown>;
  /** `cut` resets the connection half-way through the body, `dropped` before the answer, `never` does not end the body. */
  readonly end?: "clean" | "cut" | "dropped" | "never";
}

export interface ServerRequest {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** Resolves when the connection that it came on is closed. */
  readonly closed: Promise<void>;
}

export interface ClassifierServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly ServerRequest[];
  /** Lines up the answer to one request; they are taken in order. Without one a request is refused with 418. */
  willAnswer(answer: ServerAnswer): void;
  nextRequest(): Promise<ServerRequest>;
}

/** A real HTTP server on 127.0.0.1 that does as it is told, in the order of events and without regard to time. */
export async function startClassifierServer(): Promise<ClassifierServer> {
  const answers: ServerAnswer[] = [];
  const requests: ServerRequest[] = [];
  const server = createServer((incoming, response) => {
    serve(incoming, response, answers.shift()).catch((error: unknown) =>
      incoming.socket.destroy(error as Error),
    );
  });

  async function serve(
    incoming: IncomingMessage,
    response: ServerResponse,
    answer: ServerAnswer = { status: 418 },
  ) {
    const closed = new Promise<void>((resolve) => incoming.socket.once("close", () => resolve()));
    const body = JSON.parse(await text(incoming)) as Record<string, unknown>;
    const request = { path: incoming.url, headers: incoming.headers, body, closed };
    requests.push(request);
    server.emit("received", request);
    await answer.after;
    await play(response, answer);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    willAnswer: (answer) => void answers.push(answer),
    async nextRequest() {
      const [request] = (await once(server, "received")) as [ServerRequest];
      return request;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function play(
  response: ServerResponse,
  { status = 200, body = "", end = "clean" }: ServerAnswer,
): Promise<void> {
  const { socket } = response;
  if (end === "dropped") {
    socket?.resetAndDestroy();
    return;
  }
  const whole = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json" });
  if (end === "clean") {
    response.end(whole);
    return;
  }
  await new Promise((resolve) => response.write(whole.slice(0, whole.length / 2), resolve));
  if (end === "cut") socket?.resetAndDestroy();
}
