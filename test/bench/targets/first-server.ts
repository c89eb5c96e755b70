import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "../children/serve-parent.ts";

/** Number of tokens of an answer, as in the scenario's requests. */
const TOKENS = 4;

/** The events of one answer, as Reprise's are framed. */
export const FIRST_FRAMES: readonly string[] = Array.from({ length: TOKENS }, (_, i) => {
  const event = { seq: i + 1, type: "output.delta", text: "token" };
  return `id: 1-${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
});

/**
 * Serves FIRST: a POST is read and parsed, and answered with a stream of a few tokens, or with what a create alone would be.
 * @param stream writes the frames of a new stream
 */
export function serveFirst(
  create: () => Promise<void>,
  stream: (response: ServerResponse) => Promise<void>,
): void {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk as string;
    JSON.parse(body);
    if (request.headers.accept !== "text/event-stream") {
      await create();
      response.writeHead(201, { "content-type": "application/json" });
      return void response.end("{}");
    }
    response.writeHead(201, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
    });
    response.flushHeaders();
    await stream(response);
    response.end();
  }
  serveParent({
    async listen(): Promise<number> {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return (server.address() as AddressInfo).port;
    },
  });
}
