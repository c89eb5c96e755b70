import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";

/** The server's answer to one request. By default a 200 with `text/event-stream` that ends cleanly. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one after the other; a promise holds back what follows until it resolves. */
  readonly body?: readonly (string | Uint8Array | Promise<unknown>)[];
  /**
   * `cut` resets the connection, `never` leaves it open. Without headers even, but not before the promises of `body`: `silent` says
   * nothing, `dropped` resets the connection, `closed` closes it, `garbage` is not HTTP.
   */
  readonly end?: "clean" | "cut" | "never" | "silent" | "dropped" | "closed" | "garbage";
}

export interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** Resolves when the connection that the request came on is closed. */
  readonly closed: Promise<void>;
  /** Resolves when the server has done all that its answer says. */
  readonly answered: Promise<void>;
}

export interface MisbehavingServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly Received[];
  /** The number of connections ever made. */
  readonly connections: number;
  readonly openConnections: number;
  /** Lines up the answer to one request; the requests take them in order. */
  willAnswer(answer: Answer): void;
  /** Before those that are lined up. */
  willAnswerFirst(answer: Answer): void;
  /** The next request, once it is there whole. */
  nextRequest(): Promise<Received>;
}

/** A real HTTP server on 127.0.0.1 that does exactly as it is told, in the order of events and without regard to time. */
export async function startMisbehavingServer(): Promise<MisbehavingServer> {
  const answers: Answer[] = [];
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  const closings = new WeakMap<Socket, Promise<void>>();
  let connections = 0;
  const server = createServer((incoming, response) => {
    serve(incoming, response, answers.shift()).catch((error: unknown) =>
      incoming.socket.destroy(error as Error),
    );
  });
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket.setNoDelay());
    // Not events.once, which fails when the connection was reset.
    closings.set(socket, new Promise((resolve) => void socket.once("close", () => resolve())));
    socket.once("close", () => sockets.delete(socket)).on("error", () => undefined);
  });

  async function serve(
    incoming: IncomingMessage,
    response: ServerResponse,
    answer: Answer = { status: 418 },
  ): Promise<void> {
    const closed = closings.get(incoming.socket)!;
    const body = JSON.parse((await text(incoming)) || "{}") as Record<string, unknown>;
    const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
    const received: Received = { path: incoming.url, headers: incoming.headers, body, closed, answered };
    requests.push(received);
    server.emit("received", received);
    play(answer, response, incoming.socket).then(resolve, reject);
    await answered;
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return sockets.size;
    },
    willAnswer: (answer) => void answers.push(answer),
    willAnswerFirst: (answer) => void answers.unshift(answer),
    async nextRequest() {
      const [received] = (await once(server, "received")) as [Received];
      return received;
    },
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function play(
  { status = 200, headers, body = [], end = "clean" }: Answer,
  response: ServerResponse,
  socket: Socket,
): Promise<void> {
  if (end !== "clean" && end !== "cut" && end !== "never") {
    await Promise.all(body.filter((part) => part instanceof Promise));
  }
  switch (end) {
    case "silent":
      return;
    case "dropped":
      socket.resetAndDestroy();
      return;
    case "closed":
      socket.end();
      return;
    case "garbage":
      socket.end("SSH-2.0-OpenSSH_9.6\r\n");
      return;
    default:
  }
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
  // The last word and the end go in one piece, as from a server that corks.
  const last =
    end === "clean" && !(body.at(-1) instanceof Promise) ? (body.at(-1) as string | Uint8Array) : undefined;
  for (const part of last === undefined ? body : body.slice(0, -1)) {
    if (part instanceof Promise) await part;
    else if (part.length > 0) await new Promise((resolve) => response.write(part, resolve));
  }
  if (end === "clean") response.end(last);
  else if (end === "cut") socket.resetAndDestroy();
}
