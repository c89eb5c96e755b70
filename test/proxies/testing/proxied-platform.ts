import { createClient, type Generation, type Policy } from "@reprise/client";
import { findFreePort } from "@reprise/testkit";
import { type Cluster, type DeliveryProcess, startCluster } from "../../e2e/testing/cluster.ts";
import type { Upstreams } from "./nginx-files.ts";

const TENANT = "acme";
/** Two addresses of this machine. */
const HOSTS = ["127.0.1.1", "127.0.1.2"] as const;

/** The text of a generation and its speed, by the simulator. */
export interface Speech {
  readonly tokens?: number;
  /** In place of made-up tokens. */
  readonly chunks?: string[];
  readonly tokens_per_second?: number;
  readonly first_token_ms?: number;
  readonly stall_after_tokens?: number;
}

/** Continues until it is cancelled. */
export const ENDLESS: Speech = { tokens: 1_000_000, tokens_per_second: 20 };

/** A broker, a worker and two delivery nodes, for a proxy in front of them. */
export interface ProxiedPlatform extends AsyncDisposable {
  readonly upstreams: Upstreams;
  readonly apiKey: string;
  /** The nodes that run now. */
  readonly nodes: readonly DeliveryProcess[];
  /** Creates a generation past the proxy. */
  create(speech: Speech, policy?: Policy): Promise<Generation>;
  get(id: string): Promise<Generation>;
  cancel(id: string): Promise<Generation>;
  /** Payloads of the log, without the request. */
  readLog(id: string): Promise<string[]>;
  /** SIGKILL. Resolves when the node is gone. */
  kill(index: 0 | 1): Promise<void>;
  /** Starts a node that was killed, at its address. */
  restart(index: 0 | 1): Promise<void>;
}

export async function startProxiedPlatform(): Promise<ProxiedPlatform> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ tenants: [TENANT] }));
  const port = await findFreePort();
  const startNode = (index: 0 | 1) => startAt(cluster, HOSTS[index], port);
  const [first, second] = await Promise.all([startNode(0), startNode(1), cluster.startWorker()]);
  const nodes = [first, second];
  const apiKey = cluster.keys[TENANT]!;
  const { generations } = createClient({ url: first.url, apiKey });
  const kept = stack.move();
  return {
    upstreams: [`${HOSTS[0]}:${port}`, `${HOSTS[1]}:${port}`],
    apiKey,
    nodes,
    create: (options, policy = {}) =>
      generations.create({ model: "sim", input: "Go on.", options: { ...options }, policy }),
    get: (id) => generations.get(id),
    cancel: (id) => generations.cancel(id),
    readLog: async (id) => (await cluster.readLog(TENANT, id)).slice(1),
    async kill(index) {
      nodes[index]!.kill("SIGKILL");
      await nodes[index]!.exited;
    },
    async restart(index) {
      nodes[index] = await startNode(index);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function startAt(cluster: Cluster, host: string, port: number): Promise<DeliveryProcess> {
  return cluster.startDelivery({
    REPRISE_HOST: host,
    REPRISE_PORT: String(port),
    REPRISE_OPS_PORT: "0",
    // What docs/operations/proxies.md says to set.
    REPRISE_TRUSTED_PROXIES: "127.0.0.1",
    REPRISE_MAX_CONNECTIONS_PER_ADDRESS: "0",
    REPRISE_ACCESS_LOG: "with-address",
  });
}
