import { randomUUID } from "node:crypto";
import { createResumableStreamContext } from "resumable-stream";
import { FIRST_FRAMES, serveFirst } from "../first-server.ts";

/** As in its documentation: the route that runs the model makes the stream resumable, and answers with the first reader's copy. */
const context = createResumableStreamContext({ waitUntil: null });

const createStream = () =>
  context.createNewResumableStream(randomUUID(), () => {
    return new ReadableStream<string>({
      start(controller) {
        for (const frame of FIRST_FRAMES) controller.enqueue(frame);
        controller.close();
      },
    });
  });

serveFirst(
  async () => void (await createStream())?.cancel(),
  async (response) => {
    const chunks = await createStream();
    if (chunks) for await (const chunk of chunks) response.write(chunk);
  },
);
