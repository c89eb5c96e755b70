import { StampScanner, TokenCounter } from "../measure/token.ts";
import type { ReaderSpec } from "../targets/target.ts";
import type { ReaderEvents } from "./measurement.ts";
import { openSseConnection } from "./sse-connection.ts";
import { DuplexSocket } from "./duplex-socket.ts";
import { openSocketIo } from "./socket-io.ts";

/** By port: sessions share it until the last one ends. */
const shared = new Map<number, { socket: Promise<DuplexSocket>; sessions: number }>();

/** Connects one reader over its target's protocol. Resolves when the server has taken it in. */
export async function openReader(spec: ReaderSpec, events: ReaderEvents): Promise<Disposable> {
  if (spec.transport === "socket.io") return openSocketIo(spec, events);
  if (spec.transport === "socket") return openSession(spec, events);
  const { onToken, onCounted, onLost } = events;
  const [stamps, counter] = [new StampScanner(), new TokenCounter()];
  let disposed = false;
  const socket = await openSseConnection({
    ...spec,
    onBytes: (bytes) =>
      spec.countedAs === undefined ? stamps.push(bytes, onToken) : counter.push(bytes, onCounted),
    onLost: () => {
      if (!disposed) onLost();
    },
  });
  return {
    [Symbol.dispose]() {
      disposed = true;
      socket.destroy();
    },
  };
}

async function openSession(
  { port, apiKey, generation }: Extract<ReaderSpec, { transport: "socket" }>,
  { onToken, onLost }: ReaderEvents,
): Promise<Disposable> {
  let disposed = false;
  const onClosed = () => {
    if (!disposed) onLost();
  };
  const connection = shared.get(port) ?? { socket: DuplexSocket.open(port, apiKey, onClosed), sessions: 0 };
  shared.set(port, connection);
  connection.sessions++;
  const socket = await connection.socket;
  const stamps = new StampScanner();
  await socket.stream({ op: "follow", generation }, (_frame, json) =>
    stamps.push(Buffer.from(json, "latin1"), onToken),
  );
  return {
    [Symbol.dispose]() {
      disposed = true;
      if (--connection.sessions > 0) return;
      shared.delete(port);
      socket[Symbol.dispose]();
    },
  };
}

/** Connects one that reads the head of its answer and leaves the rest to the socket's buffers. */
export async function openStalledReader(spec: ReaderSpec): Promise<Disposable> {
  if (spec.transport !== "sse") throw new Error("Only a reader of an event stream can be stalled.");
  const ignore = () => {};
  const socket = await openSseConnection({ ...spec, onBytes: ignore, onLost: ignore });
  socket.pause();
  return { [Symbol.dispose]: () => void socket.destroy() };
}
