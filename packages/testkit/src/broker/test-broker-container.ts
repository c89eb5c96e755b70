import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { GenericContainer, getContainerRuntimeClient, Wait } from "testcontainers";
import { isEndingSignal, standsStill } from "../process/send-signal.ts";
import { findFreePort } from "../network/free-port.ts";
import { patientConfig } from "./patient-config.ts";
import type { TestBroker, TestBrokerOptions } from "./test-broker.ts";

const CLIENT_PORT = 4222;
const CONFIG_FILE = "/etc/nats/reprise.json";
const STOP_GRACE_MS = 10_000;
const READY_MS = 120_000;
const AGAIN_MS = 20;

/** A nats-server in a container, which keeps its store in the container's own file system until it is disposed of. */
export async function startBrokerContainer(image: string, options: TestBrokerOptions): Promise<TestBroker> {
  const client = await getContainerRuntimeClient();
  // A port that Docker picks would be another one after a restart.
  const port = await findFreePort();
  const started = await new GenericContainer(image)
    .withExposedPorts({ container: CLIENT_PORT, host: port })
    .withCopyContentToContainer([{ content: encodeConfig(options), target: CONFIG_FILE }])
    .withCommand(["--config", CONFIG_FILE])
    .withWaitStrategy(Wait.forLogMessage(/Server is ready/))
    // The reaper that would clean up after a killed test run is an image of its own, and nothing may be pulled.
    .withAutoCleanup(false)
    .start();
  const container = client.container.getById(started.getId());
  const inspectPid = async (): Promise<number> => (await container.inspect()).State.Pid;
  let pid = await inspectPid();

  return {
    kind: "container",
    url: `nats://${started.getHost()}:${port}`,
    port,
    get pid() {
      return pid;
    },
    async kill(signal) {
      await container.kill({ signal });
      if (signal === "SIGSTOP") await standsStill(pid);
      if (isEndingSignal(signal)) await container.wait();
    },
    async restart() {
      // testcontainers waits for a line of the log, which can be written before it listens to it.
      await container.restart({ t: STOP_GRACE_MS / 1_000 });
      await untilGreeted(started.getHost(), port);
      pid = await inspectPid();
    },
    async stop() {
      await started.stop({ remove: false, timeout: STOP_GRACE_MS });
    },
    async [Symbol.asyncDispose]() {
      // testcontainers removes none that it has stopped before, also where it runs again.
      await container.remove({ force: true, v: true });
    },
  };
}

/** Resolves when the server sends its first line: Docker takes connections for it before it is there. */
async function untilGreeted(host: string, port: number): Promise<void> {
  for (const deadline = performance.now() + READY_MS; performance.now() < deadline;) {
    const socket = connect(port, host);
    const isGreeted = await Promise.race([once(socket, "data"), once(socket, "close")]).then(
      ([data]) => Buffer.isBuffer(data),
      () => false,
    );
    socket.destroy();
    if (isGreeted) return;
    await pause(AGAIN_MS);
  }
  throw new Error(`the nats-server in the container does not answer ${READY_MS} ms after its restart`);
}

function encodeConfig({
  maxPayloadBytes = 8 * 1_024 * 1_024,
  syncInterval,
  extraConfig,
}: TestBrokerOptions): string {
  return JSON.stringify({
    ...patientConfig(extraConfig),
    port: CLIENT_PORT,
    max_payload: maxPayloadBytes,
    jetstream: { store_dir: "/data", sync_interval: syncInterval },
  });
}
