import { connect, type Socket } from "node:net";

export interface SseConnectionOptions {
  port: number;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Body bytes, chunk heads and all. Valid only during the call: all connections share one buffer. */
  onBytes: (bytes: Buffer) => void;
  /** The connection is gone, and not by `destroy`. */
  onLost: () => void;
}

const HEAD_END = "\r\n\r\n";
const shared = Buffer.allocUnsafe(256 * 1_024);

/**
 * Opens an event stream on a bare socket, without an HTTP parser and without a buffer per read, so that thousands of readers
 * fit beside the server under test on one machine. Resolves with the response's head.
 * @throws Error for any status but 200
 */
export async function openSseConnection(options: SseConnectionOptions): Promise<Socket> {
  const { port, path, headers, onBytes, onLost } = options;
  let head = "";
  let body = false;
  const opened = Promise.withResolvers<void>();
  const socket = connect({
    host: "127.0.0.1",
    port,
    onread: {
      buffer: shared,
      callback: (length: number) => {
        const bytes = shared.subarray(0, length);
        if (body) {
          onBytes(bytes);
          return true;
        }
        head += bytes.toString("latin1");
        const end = head.indexOf(HEAD_END);
        if (end < 0) return true;
        body = true;
        if (!head.startsWith("HTTP/1.1 200 "))
          opened.reject(new Error(`${path}: ${head.split("\r\n", 1)[0]}`));
        opened.resolve();
        onBytes(Buffer.from(head.slice(end + HEAD_END.length), "latin1"));
        return true;
      },
    },
  });
  socket.setNoDelay(true);
  socket.on("error", opened.reject);
  socket.on("close", () => {
    opened.reject(new Error(`${path}: closed without an answer`));
    if (body) onLost();
  });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n${lines.join("")}\r\n`,
  );
  await opened.promise;
  socket.removeListener("error", opened.reject);
  // "close" follows, and counts.
  socket.on("error", () => {});
  return socket;
}
