import { startNatsServer } from "@reprise/service";
import { isEndingSignal } from "./ending-signal.ts";
import { createTempDir } from "./temp-dir.ts";
import type { TestBroker, TestBrokerOptions } from "./test-broker.ts";

/** A nats-server as a child process, with its store in a temporary folder. */
export async function startBrokerBinary(binary: string, options: TestBrokerOptions): Promise<TestBroker> {
  const dir = await createTempDir("nats");
  const start = (port?: number) => startNatsServer({ ...options, binary, storeDir: dir.path, port });
  let server = await start();
  const { url, port } = server;

  return {
    kind: "binary",
    url,
    port,
    get pid() {
      return server.pid;
    },
    async kill(signal) {
      process.kill(server.pid, signal);
      if (isEndingSignal(signal)) await server.exited;
    },
    async restart() {
      await server.stop();
      server = await start(port);
    },
    stop: () => server.stop(),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await dir[Symbol.asyncDispose]();
    },
  };
}
