import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { startNatsServer } from "@reprise/runtime";
import { findFreePort, startOnFreePorts } from "../network/free-port.ts";
import { isEndingSignal, sendSignal } from "../process/send-signal.ts";
import { createTempDir } from "../process/temp-dir.ts";
import { patientConfig } from "./patient-config.ts";
import type { TestBroker, TestBrokerOptions } from "./test-broker.ts";

/** A broker whose store can be rolled back. */
export interface StoredBroker extends TestBroker {
  /** Where the server keeps its files. */
  readonly storeDir: string;
  /** Keeps a copy of the current store, in place of an earlier copy. The server is paused meanwhile, and does not notice. */
  snapshotStore(): Promise<void>;
  /**
   * Kills the server, puts the copy in place of its store and starts it again on the same port: everything that was stored since
   * is gone, as after a power loss with a lazy fsync.
   * @param onLost called when the store is the copy, and no server answers yet
   * @throws Error when there is no copy
   */
  restoreStore(onLost?: () => void): Promise<void>;
}

const START_MS = 120_000;

/** A nats-server as a child process, with its store in a temporary folder. */
export async function startBrokerBinary(binary: string, options: TestBrokerOptions): Promise<StoredBroker> {
  const dir = await createTempDir("nats");
  const storeDir = join(dir.path, "store");
  const snapshotDir = join(dir.path, "snapshot");
  const extraConfig = patientConfig(options.extraConfig);
  const start = (port: number) =>
    startNatsServer({ ...options, extraConfig, binary, storeDir, port, startTimeoutMs: START_MS });
  let server = await startOnFreePorts(async () => start(await findFreePort()));
  const { url, port } = server;
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    await sendSignal(server.pid, signal);
    if (isEndingSignal(signal)) await server.exited;
  };

  return {
    kind: "binary",
    storeDir,
    url,
    port,
    get pid() {
      return server.pid;
    },
    kill,
    async restart() {
      await server.stop();
      server = await start(port);
    },
    stop: () => server.stop(),
    async snapshotStore() {
      await kill("SIGSTOP");
      try {
        await rm(snapshotDir, { recursive: true, force: true });
        await cp(join(storeDir, JETSTREAM), snapshotDir, { recursive: true });
      } finally {
        await kill("SIGCONT");
      }
    },
    async restoreStore(onLost) {
      await kill("SIGKILL");
      const store = join(storeDir, JETSTREAM);
      await rm(store, { recursive: true, force: true });
      await cp(snapshotDir, store, { recursive: true });
      onLost?.();
      server = await start(port);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Where in its folder nats-server keeps its streams; what lies beside it is configuration, log and pid. */
const JETSTREAM = "jetstream";
