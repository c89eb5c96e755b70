import { FIRST_FRAMES, serveFirst } from "../first-server.ts";

/** A server that has its first token at once, and nothing else to do. */
serveFirst(
  async () => {},
  async (response) => {
    for (const frame of FIRST_FRAMES) response.write(frame);
  },
);
