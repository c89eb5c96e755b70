import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { findNatsServer } from "@reprise/runtime";
import { findFreePort, startOnFreePorts } from "../network/free-port.ts";
import { createTempDir } from "../process/temp-dir.ts";
import type { NodeLayout } from "./test-cluster-config.ts";
import { type ClusterNode, startNode } from "./test-cluster-node.ts";

export interface TestClusterOptions {
  /** Default 3. */
  nodes?: number;
  /** Further fields of each node's configuration. A connection without credentials must get in: the cluster is asked for its leaders over one. */
  extraConfig?: Readonly<Record<string, unknown>>;
}

/** Real nats-servers in a JetStream cluster, each killed, stopped and restarted by itself. */
export interface TestCluster extends AsyncDisposable {
  /** All addresses, separated by commas: what a client is told. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** The node that leads a stream, as far as a living node knows. Undefined during an election, and for a stream that is not there. */
  leaderOf(stream: string): Promise<ClusterNode | undefined>;
  /** Resolves when every node is up to date in everything. */
  healthy(): Promise<void>;
}

const DATA_DIR = fileURLToPath(new URL("../../../../.reprise", import.meta.url));
const ANSWER_LIMIT_MS = 1_000;

/**
 * Starts a cluster on free ports of 127.0.0.1 and resolves when streams with as many replicas can be made. Always processes of
 * the machine itself, never containers: the signals are the point.
 * @throws RepriseError `config_invalid` when there is no nats-server
 */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { path } = await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? DATA_DIR);
  return startOnFreePorts(() => startCluster(path, options));
}

async function startCluster(
  path: string,
  { nodes: count = 3, extraConfig = {} }: TestClusterOptions,
): Promise<TestCluster> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("cluster"));
  const layouts = await Promise.all(
    Array.from({ length: count }, async (_, index): Promise<NodeLayout> => {
      const [port, routePort, monitorPort] = await Promise.all([
        findFreePort(),
        findFreePort(),
        findFreePort(),
      ]);
      const name = `node-${index + 1}`;
      return { name, dir: join(dir.path, name), port, routePort, monitorPort };
    }),
  );
  const nodes = await Promise.all(
    layouts.map(async (layout) => {
      const node = await startNode(path, layout, { nodes: layouts, extraConfig });
      stack.defer(() => node.stop());
      return node;
    }),
  );
  const healthy = async () => {
    await Promise.all(nodes.map((node) => node.healthy()));
  };
  await healthy();

  const running = stack.move();
  return {
    url: nodes.map(({ url }) => url).join(","),
    nodes,
    healthy,
    async leaderOf(stream) {
      const names = await Promise.all(nodes.map(({ url }) => askLeader(url, stream)));
      const name = names.find((said) => said !== undefined);
      return nodes.find((node) => node.name === name);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Asks over one node, with a connection for this one question: nodes come and go. */
async function askLeader(url: string, stream: string): Promise<string | undefined> {
  try {
    const nc = await connect({ servers: url, timeout: ANSWER_LIMIT_MS, reconnect: false });
    try {
      const answer = await nc.request(`$JS.API.STREAM.INFO.${stream}`, "", { timeout: ANSWER_LIMIT_MS });
      return answer.json<{ cluster?: { leader?: string } }>().cluster?.leader;
    } finally {
      await nc.close();
    }
  } catch {
    return undefined;
  }
}
