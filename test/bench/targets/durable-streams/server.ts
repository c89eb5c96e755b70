import { DurableStreamTestServer } from "@durable-streams/server";
import { serveParent } from "../../children/serve-parent.ts";

/** The protocol's reference server for Node, with its defaults: streams are kept in memory, which is its fastest store. */
const server = new DurableStreamTestServer({ port: 0, host: "127.0.0.1" });

serveParent({
  async listen(): Promise<number> {
    return Number(new URL(await server.start()).port);
  },
});
