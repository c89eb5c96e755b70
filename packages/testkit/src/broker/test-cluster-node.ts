import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { spawnSupervised, type SupervisedProcess } from "@reprise/runtime";
import { isEndingSignal, sendSignal } from "../process/send-signal.ts";
import { encodeNodeConfig, nodeFiles, type NodeLayout, storeDirOf } from "./test-cluster-config.ts";

/** One nats-server of a cluster, a process of its own. Its name, its ports and its store outlive that process. */
export interface ClusterNode {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  /** Where it keeps streams and the logs of its Raft groups. */
  readonly storeDir: string;
  /** A new one after each restart. */
  readonly pid: number;
  /** Sends a signal: SIGKILL for a crash, SIGSTOP and SIGCONT for a pause. When it resolves, a killed server has ended, and a stopped one is paused. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the server in order, and keeps its store. */
  stop(): Promise<void>;
  /** Ends the server if it runs, and starts it again. Resolves when its cluster's streams are up to date on it. */
  restart(): Promise<void>;
}

const START_LIMIT_MS = 120_000;
const POLL_MS = 50;
const STOP_GRACE_S = 5;
const LOG_LENGTH_IN_ERROR = 1_000;

export interface OwnedNode extends ClusterNode {
  /**
   * Resolves when the node has a leader for every stream and consumer and lags in none.
   * @throws Error when it has ended, and after two minutes
   */
  healthy(): Promise<void>;
}

/** Settings that all nodes of a cluster share. */
interface ClusterLayout {
  readonly nodes: readonly NodeLayout[];
  /** Further fields of their configuration. */
  readonly extraConfig: Readonly<Record<string, unknown>>;
}

/** Starts a node. Resolves when the process is there; it is healthy once most of the cluster is. */
export async function startNode(
  binary: string,
  layout: NodeLayout,
  { nodes, extraConfig }: ClusterLayout,
): Promise<OwnedNode> {
  const files = nodeFiles(layout);
  await mkdir(layout.dir, { recursive: true });
  await writeFile(files.config, encodeNodeConfig(layout, nodes, extraConfig));
  let server: SupervisedProcess;
  let pid = 0;
  let hasEnded = false;

  async function assertRunning(): Promise<void> {
    if (!hasEnded) return;
    const log = await readFile(files.log, "utf8");
    throw new Error(`${layout.name} has ended. Its log ends with:\n${log.slice(-LOG_LENGTH_IN_ERROR)}`);
  }

  async function start(): Promise<void> {
    hasEnded = false;
    await rm(files.pid, { force: true });
    const log = await open(files.log, "a");
    try {
      server = await spawnSupervised([binary, "--config", files.config], {
        stopGraceS: STOP_GRACE_S,
        output: log.fd,
        environment: { GOMAXPROCS: "1" },
      });
    } finally {
      await log.close();
    }
    void server.exited.then(() => (hasEnded = true));
    await until(`${layout.name} did not start`, async () => {
      await assertRunning();
      pid = Number(await readFile(files.pid, "utf8").catch(() => ""));
      return pid > 0;
    });
  }

  const healthy = () =>
    until(`${layout.name} did not become healthy`, async () => {
      await assertRunning();
      const answer = await fetch(`http://127.0.0.1:${layout.monitorPort}/healthz`).catch(() => undefined);
      await answer?.arrayBuffer();
      return answer?.status === 200;
    });

  await start();
  return {
    name: layout.name,
    url: `nats://127.0.0.1:${layout.port}`,
    storeDir: storeDirOf(layout),
    port: layout.port,
    get pid() {
      return pid;
    },
    async kill(signal) {
      await sendSignal(pid, signal);
      if (isEndingSignal(signal)) await server.exited;
    },
    stop: () => server.stop(),
    async restart() {
      await server.stop();
      await start();
      await healthy();
    },
    healthy,
  };
}

async function until(failure: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + START_LIMIT_MS;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`${failure} within ${START_LIMIT_MS} ms.`);
    await delay(POLL_MS);
  }
}
