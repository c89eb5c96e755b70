import { StampScanner } from "../measure/token.ts";
import type { ReaderSpec } from "../targets/target.ts";
import { openSseConnection } from "./sse-connection.ts";
import { openSocketIo } from "./socket-io.ts";

export interface ReaderEvents {
  /** A token's due time, as it stands in the token. */
  onToken: (dueMicros: number) => void;
  onLost: () => void;
}

/** Connects one reader over whatever its target speaks. Resolves when the server has taken it in. */
export async function openReader(spec: ReaderSpec, { onToken, onLost }: ReaderEvents): Promise<Disposable> {
  if (spec.transport === "socket.io") return openSocketIo(spec, { onToken, onLost });
  const scanner = new StampScanner();
  let disposed = false;
  const socket = await openSseConnection({
    ...spec,
    onBytes: (bytes) => scanner.push(bytes, onToken),
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

/** Connects one that reads the head of its answer and leaves the rest to the socket's buffers. */
export async function openStalledReader(spec: ReaderSpec): Promise<Disposable> {
  if (spec.transport !== "sse") throw new Error("Only a reader of an event stream can be stalled.");
  const ignore = () => {};
  const socket = await openSseConnection({ ...spec, onBytes: ignore, onLost: ignore });
  socket.pause();
  return { [Symbol.dispose]: () => void socket.destroy() };
}
