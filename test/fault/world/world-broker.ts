import {
  type AckLedger,
  type ClusterNode,
  createAckLedger,
  startStoredBroker,
  startTestCluster,
  type StoredBroker,
  type TestCluster,
} from "@reprise/testkit";
import { Disturbance } from "./disturbance.ts";
import { isAlive } from "./service-slot.ts";

/** The broker of a world: one server or three. Asking for the one that is not there is a mistake of the row. */
export interface WorldBroker extends AsyncDisposable {
  readonly url: string;
  readonly server: StoredBroker;
  readonly cluster: TestCluster;
  /** Events that the broker has acknowledged as stored to any service. Only a store that goes back takes something from it. */
  readonly acks: AckLedger;
  /** Of any of its servers. */
  readonly disturbance: Disturbance;
  /** Takes back what a trial has done: afterwards every server runs and is up to date. */
  heal(): Promise<void>;
}

export async function startWorldBroker(kind: "single" | "cluster"): Promise<WorldBroker> {
  return kind === "single" ? toSingle(await startStoredBroker()) : toCluster(await startTestCluster());
}

const isLog = (subject: string): boolean => subject.startsWith("gen.");

function toSingle(server: StoredBroker): WorldBroker {
  const acks = createAckLedger(isLog);
  const disturbance = new Disturbance();
  let copied = 0;
  return {
    url: server.url,
    acks,
    disturbance,
    server: {
      ...withDisturbance(server, disturbance),
      storeDir: server.storeDir,
      kind: server.kind,
      async snapshotStore() {
        copied = acks.mark();
        disturbance.strike();
        await server.snapshotStore();
      },
      async restoreStore() {
        disturbance.strike();
        await server.restoreStore(() => acks.rollBack(copied));
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    },
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
  const disturbance = new Disturbance();
  const nodes = cluster.nodes.map((node): ClusterNode => ({
    ...withDisturbance(node, disturbance),
    name: node.name,
    storeDir: node.storeDir,
  }));
  return {
    url: cluster.url,
    acks: createAckLedger(isLog),
    disturbance,
    get server(): never {
      throw new Error("This world has a cluster, not one nats-server.");
    },
    cluster: {
      ...cluster,
      nodes,
      async leaderOf(stream) {
        const leader = await cluster.leaderOf(stream);
        return leader && nodes.find(({ name }) => name === leader.name);
      },
    },
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

type Killable = Pick<ClusterNode, "url" | "port" | "pid" | "kill" | "stop" | "restart">;

/** The same server, which tells of everything that is done to it. */
function withDisturbance(server: Killable, disturbance: Disturbance): Killable {
  return {
    url: server.url,
    port: server.port,
    get pid() {
      return server.pid;
    },
    kill(signal) {
      disturbance.strike();
      return server.kill(signal);
    },
    stop() {
      disturbance.strike();
      return server.stop();
    },
    restart() {
      disturbance.strike();
      return server.restart();
    },
  };
}
