import { startStoredBroker, startTestCluster, type StoredBroker, type TestCluster } from "@reprise/testkit";
import { isAlive } from "./is-alive.ts";

/** The broker of a world: one server or three. Asking for the one that is not there is a mistake of the row. */
export interface WorldBroker extends AsyncDisposable {
  readonly url: string;
  readonly server: StoredBroker;
  readonly cluster: TestCluster;
  /** Whatever a trial has done: afterwards every server runs and is up to date. */
  heal(): Promise<void>;
}

export async function startWorldBroker(kind: "single" | "cluster"): Promise<WorldBroker> {
  return kind === "single" ? toSingle(await startStoredBroker()) : toCluster(await startTestCluster());
}

function toSingle(server: StoredBroker): WorldBroker {
  return {
    url: server.url,
    server,
    get cluster(): never {
      throw new Error("This world has one nats-server, not a cluster.");
    },
    async heal() {
      if (isAlive(server.pid)) await server.kill("SIGCONT");
      else await server.restart();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function toCluster(cluster: TestCluster): WorldBroker {
  return {
    url: cluster.url,
    get server(): never {
      throw new Error("This world has a cluster, not one nats-server.");
    },
    cluster,
    async heal() {
      for (const node of cluster.nodes) {
        if (isAlive(node.pid)) await node.kill("SIGCONT");
        else await node.restart();
      }
      await cluster.healthy();
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
