import { createAdapter } from "@socket.io/redis-streams-adapter";
import { createClient } from "redis";
import { Server } from "socket.io";

/** A Socket.IO server on Redis Streams with both libraries' defaults, WebSocket only. */
export async function createIo(redisUrl: string): Promise<Server> {
  const client = createClient({ url: redisUrl });
  await client.connect();
  return new Server({ adapter: createAdapter(client), transports: ["websocket"] });
}
