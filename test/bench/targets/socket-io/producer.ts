import { serveProducer } from "../serve-producer.ts";
import { createIo } from "./create-io.ts";

/** A node of the cluster without clients: each token is an `emit` to a room, which the adapter adds to a Redis stream. */
const io = await createIo();
let lastId = 0;

serveProducer({
  open: async () => String(++lastId),
  append: (id, text) => void io.to(id).emit("token", text),
  stored: async () => {},
});
