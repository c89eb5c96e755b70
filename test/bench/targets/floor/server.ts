import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { serveProducer } from "../serve-producer.ts";

/*
 * The floor: tokens are made in the very process that writes them to readers, with `response.write` and nothing in between.
 * Nothing survives the process; it keeps events only so that late readers have something to catch up with.
 */

interface Stream {
  readonly readers: Set<ServerResponse>;
  readonly frames: string[];
}

const streams = new Map<string, Stream>();
let lastId = 0;

const server = createServer((request, response) => {
  const stream = streams.get(request.url!.slice(1));
  if (!stream) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform" });
  response.flushHeaders();
  if (stream.frames.length > 0) response.write(stream.frames.join(""));
  stream.readers.add(response);
  response.on("close", () => stream.readers.delete(response));
});

serveProducer(
  {
    async open() {
      const id = String(++lastId);
      streams.set(id, { readers: new Set(), frames: [] });
      return id;
    },
    append(id, text) {
      const { readers, frames } = streams.get(id)!;
      const seq = frames.length + 1;
      const frame = `id: 1-${seq}\ndata: ${JSON.stringify({ seq, type: "output.delta", text })}\n\n`;
      frames.push(frame);
      for (const reader of readers) reader.write(frame);
    },
    stored: async () => {},
  },
  {
    async listen(): Promise<number> {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return (server.address() as AddressInfo).port;
    },
  },
);
