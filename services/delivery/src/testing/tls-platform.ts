import { readFile } from "node:fs/promises";
import { createTempDir, createTestCertificates } from "@reprise/testkit";
import { type NodeOptions, openPlatform } from "./platform.ts";

/** A platform whose further nodes speak TLS, with the certificate of an authority of its own. */
export async function openTlsPlatform() {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("tls"));
  const certificates = await createTestCertificates(dir.path);
  const ca = await readFile(certificates.ca, "utf8");
  const files = await certificates.issue("server", ["127.0.0.1"]);
  const platform = stack.use(await openPlatform());
  const addNode = (options: NodeOptions = {}) => platform.addNode({ tls: files, ...options });
  const owned = stack.move();
  return {
    dir,
    certificates,
    ca,
    files,
    platform,
    addNode,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
