import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createTempDir, createTestCertificates } from "@reprise/testkit";
import { dialTls, type EgressPorts } from "./dial.ts";

export const HOST = "files.example.com";
export const PUBLIC = "8.8.8.8";

/** A host outside, which is a server of this process: every address that is dialled leads to it. */
export async function openTlsHost(serve: (request: IncomingMessage, response: ServerResponse) => void) {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("egress"));
  const certificates = await createTestCertificates(dir.path);
  const files = await certificates.issue("server", [HOST, "other.example.com"]);
  const [cert, key, ca] = await Promise.all(
    [files.cert, files.key, certificates.ca].map((path) => readFile(path, "utf8")),
  );
  const server = createServer({ cert, key }, serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const dialled: string[] = [];
  const resolved: string[] = [];
  const ports: EgressPorts = {
    async resolve(host) {
      resolved.push(host);
      return [PUBLIC];
    },
    dial({ address, host }, signal) {
      dialled.push(address);
      return dialTls({ address: "127.0.0.1", port, host }, signal, ca);
    },
  };
  const owned = stack.move();
  return { ports, dialled, resolved, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
