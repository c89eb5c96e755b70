import { createResumableStreamContext } from "resumable-stream";
import { serveProducer } from "../serve-producer.ts";

/*
 * The process that runs the model's stream, as a Next.js route would; the library keeps all chunks in its memory and publishes
 * each one to Redis once per reader. Redis is where REDIS_URL says.
 */
const context = createResumableStreamContext({ waitUntil: null });
const controllers = new Map<string, { controller: ReadableStreamDefaultController<string>; seq: number }>();
let lastId = 0;

serveProducer({
  async open() {
    const id = String(++lastId);
    const source = new ReadableStream<string>({
      start: (controller) => void controllers.set(id, { controller, seq: 0 }),
    });
    const own = await context.createNewResumableStream(id, () => source);
    // The first reader's copy is not read, and must not take memory.
    await own?.cancel();
    return id;
  },
  append(id, text) {
    const stream = controllers.get(id)!;
    const seq = ++stream.seq;
    stream.controller.enqueue(
      `id: 1-${seq}\ndata: ${JSON.stringify({ seq, type: "output.delta", text })}\n\n`,
    );
  },
  stored: () => new Promise((resolve) => setImmediate(resolve)),
});
