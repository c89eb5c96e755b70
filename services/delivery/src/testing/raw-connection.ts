import { once } from "node:events";
import { connect } from "node:net";

export type RawEnd = "fin" | "reset";

/** A TCP connection to a node, for what no HTTP client does. */
export interface RawConnection extends AsyncDisposable {
  /** Everything that came so far. */
  readonly text: string;
  send(text: string): void;
  /** Ends our half and continues to listen. */
  halfClose(): void;
  /** Resolves when what came holds the text, or fails when the connection ends without it. */
  until(expected: string): Promise<void>;
  /** Resolves at the next bytes, or fails when the connection ends instead. */
  more(): Promise<void>;
  readonly ended: Promise<RawEnd>;
}

export async function openRawConnection(
  url: string,
  { localAddress }: { localAddress?: string } = {},
): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    allowHalfOpen: true,
    ...(localAddress !== undefined && { localAddress }),
  });
  await once(socket, "connect");
  let text = "";
  let over = false;
  let news = Promise.withResolvers<void>();
  const announce = () => {
    news.resolve();
    news = Promise.withResolvers();
  };
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
    announce();
  });
  const ended = new Promise<RawEnd>((resolve) => {
    socket.on("end", () => resolve("fin"));
    socket.on("error", () => resolve("reset"));
  });
  void ended.then(() => {
    over = true;
    announce();
  });
  const more = async () => {
    if (over) throw new Error(`the connection ended after ${JSON.stringify(text.slice(-500))}`);
    await news.promise;
  };
  return {
    get text() {
      return text;
    },
    send: (bytes) => void socket.write(bytes),
    halfClose: () => void socket.end(),
    more,
    async until(expected) {
      while (!text.includes(expected)) await more();
    },
    ended,
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}

/** A GET as bytes. */
export function rawGet(
  path: string,
  headers: Record<string, string>,
  version: "1.0" | "1.1" = "1.1",
): string {
  const lines = Object.entries({ host: "test", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/${version}\r\n${lines.join("")}\r\n`;
}
