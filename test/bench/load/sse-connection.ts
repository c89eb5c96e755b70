import { connect, type Socket } from "node:net";

export interface SseConnectionOptions {
  port: number;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** JSON of a POST. Default: a GET. */
  body?: string | undefined;
  /** Body bytes, chunk heads and all. Valid only during the call: all connections share one buffer. */
  onBytes: (bytes: Buffer) => void;
  /** The connection is gone, and not by `destroy`. */
  onLost: () => void;
}

const HEAD_END = "\r\n\r\n";
const shared = Buffer.allocUnsafe(256 * 1_024);

/**
 * Opens an event stream on a bare socket, without an HTTP parser and without a buffer per read, so that thousands of readers
 * fit beside the server under test on one machine. Resolves once the response's head is there.
 * @throws Error for any status but 200 and 201
 */
export async function openSseConnection(options: SseConnectionOptions): Promise<Socket> {
  const { port, path, headers, body, onBytes, onLost } = options;
  let head = "";
  let isOpen = false;
  const opened = Promise.withResolvers<void>();
  const socket = connect({
    host: "127.0.0.1",
    port,
    onread: {
      buffer: shared,
      callback: (length: number) => {
        const bytes = shared.subarray(0, length);
        if (isOpen) {
          onBytes(bytes);
          return true;
        }
        head += bytes.toString("latin1");
        const end = head.indexOf(HEAD_END);
        if (end < 0) return true;
        isOpen = true;
        if (!/^HTTP\/1.1 20[01] /.test(head))
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
    if (isOpen) onLost();
  });
  const content = body === undefined ? {} : toContent(body);
  const lines = Object.entries({ ...headers, ...content }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n${lines.join("")}\r\n${body ?? ""}`,
  );
  await opened.promise;
  socket.removeListener("error", opened.reject);
  // "close" follows, and counts.
  socket.on("error", () => {});
  return socket;
}

function toContent(body: string): Record<string, string> {
  return { "content-type": "application/json", "content-length": `${Buffer.byteLength(body)}` };
}
