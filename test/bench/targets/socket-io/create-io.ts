import { createAdapter } from "@socket.io/redis-streams-adapter";
import { createClient } from "redis";
import { Server } from "socket.io";

/** A Socket.IO server on Redis Streams, at REDIS_URL, with both libraries' defaults, WebSocket only. */
export async function createIo(): Promise<Server> {
  const client = createClient({ url: process.env["REDIS_URL"]! });
  await client.connect();
  return new Server({ adapter: createAdapter(client), transports: ["websocket"] });
}
