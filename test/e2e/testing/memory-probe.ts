import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { watchMemory } from "../../../packages/testkit/src/process/watch-memory.ts";

/*
 * Loaded into a service in front of its own code: tells a test what the process uses, after a collection. `POST` begins to watch, `GET` takes a sample and
 * answers with the most so far, in bytes.
 */

let watch = watchMemory();
const server = createServer((request, response) => {
  if (request.method === "POST") watch = watchMemory();
  watch.sample();
  response.end(`${watch.most()}`);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  writeFileSync(process.env["MEMORY_PROBE_FILE"]!, `${port}`);
});
server.unref();
