import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export type RealtimeMessage = Readonly<Record<string, unknown>> & { readonly type: string };

interface Answer {
  readonly send: (message: RealtimeMessage | string) => void;
  /** Breaks the connection. */
  readonly cut: () => void;
}

interface Accepted {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly closed: Promise<unknown>;
  /** Reads what is left to its end, and answers nothing. */
  readonly discard: () => void;
}

/**
 * A double of vLLM's `/v1/realtime`: it speaks WebSocket, and a test says what it answers. Begins with `session.created`.
 * @param onMessage absent: it reads nothing
 */
export async function startRealtimeServer(onMessage?: (message: RealtimeMessage, answer: Answer) => void) {
  const connections: Accepted[] = [];
  const sockets = new Set<Duplex>();
  const server = createServer();
  server.on("upgrade", ({ url, headers }, socket: Duplex) => {
    const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    connections.push({ url, headers, closed: once(socket, "close"), discard: () => socket.resume() });
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const answer: Answer = {
      send: (message) =>
        socket.write(encodeFrame(typeof message === "string" ? message : JSON.stringify(message))),
      cut: () => socket.destroy(),
    };
    answer.send({ type: "session.created", id: "sess_1" });
    if (!onMessage) return;
    let bytes = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let frame = decodeFrame(bytes); frame; frame = decodeFrame(bytes)) {
        bytes = bytes.subarray(frame.end);
        if (frame.opcode === 8) socket.end(Buffer.from([0x88, 0]));
        else onMessage(JSON.parse(frame.text) as RealtimeMessage, answer);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function encodeFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([head, payload]);
}

/** A client's frame is masked. Undefined until all of it is there. */
function decodeFrame(bytes: Buffer): { opcode: number; text: string; end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const at = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < at + 4) return undefined;
  const length =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const end = at + 4 + length;
  if (bytes.length < end) return undefined;
  const mask = bytes.subarray(at, at + 4);
  const payload = bytes.subarray(at + 4, end).map((byte, i) => byte ^ mask[i % 4]!);
  return { opcode: bytes[0]! & 0x0f, text: Buffer.from(payload).toString(), end };
}
