import { io } from "socket.io-client";
import { StampScanner } from "../measure/token.ts";
import type { ReaderEvents } from "./measurement.ts";

/** A reader with the library's own client, which costs this process more than a bare socket does. */
export async function openSocketIo(
  { url, room }: { url: string; room: string },
  { onToken, onLost }: ReaderEvents,
): Promise<Disposable> {
  const socket = io(url, { transports: ["websocket"], forceNew: true, reconnection: false, query: { room } });
  const scanner = new StampScanner();
  socket.on("token", (text: string) => scanner.push(Buffer.from(text, "latin1"), onToken));
  await new Promise<void>((resolve, reject) => {
    socket.on("connect", resolve);
    socket.on("connect_error", reject);
  });
  socket.on("disconnect", (reason) => {
    if (reason !== "io client disconnect") onLost();
  });
  return { [Symbol.dispose]: () => void socket.disconnect() };
}
