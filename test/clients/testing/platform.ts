import { readFile, writeFile } from "node:fs/promises";
import { isTerminal, type KnownEvent } from "@reprise/protocol";
import { type ConnectionTap, type SeededRandom, startTcpProxy } from "@reprise/testkit";
import { type Cluster, startCluster, type WorkerProcess } from "../../e2e/testing/cluster.ts";
import { watchGenerations } from "./live-generations.ts";

/** Tenants by what moderation does for them. */
const TENANTS = ["plain", "observe", "gate", "retract"] as const;
export type Tenant = (typeof TENANTS)[number];

/** As `startCluster` has it. */
const SHARDS = 2;

export interface PlatformOptions {
  /** Number of workers at a time. Default 1. With 2, one takes over from the other. */
  readonly workers?: number;
  /** True if a moderation service runs: the tenants `observe`, `gate` and `retract` need it. Default false. */
  readonly moderation?: boolean;
}

export interface CutPlan {
  /** Number of connections that are cut. */
  readonly count: number;
  /** After how many bytes to the client, at least and at most. Default 200 and 6,000. */
  readonly from?: number;
  readonly to?: number;
}

/** Two delivery nodes, workers with the simulated engine, moderation, and a proxy in front of both nodes that cuts connections. */
export interface Platform extends AsyncDisposable {
  readonly cluster: Cluster;
  /** The proxy's: its connections go to the nodes in turn. */
  readonly url: string;
  /** The nodes themselves. */
  readonly nodes: readonly [string, string];
  /** Number of connections that the proxy has cut. */
  readonly cuts: number;
  /** A tenant's API key. Default `plain`. */
  key(tenant?: Tenant): string;
  /**
   * Resets the next connections, each after a random number of bytes to the client. A connection that is open now is left alone. Disposing closes all
   * connections: a client may keep one whose cut is still to come.
   */
  cutNext(random: SeededRandom, plan: CutPlan): Disposable;
  /** Resets all connections that are open. */
  cutNow(): void;
  /** Number of the tenant's generations: 1 for one call, however often it was sent. */
  runs(tenant?: Tenant): Promise<number>;
  /** Resolves with the id of a generation that runs and has that many deltas. */
  untilSaid(deltas: number, tenant?: Tenant): Promise<string>;
  /** Resolves with a generation's log, seq 0 included, once it holds what is asked for. */
  untilLog(id: string, holds: (events: KnownEvent[]) => boolean, tenant?: Tenant): Promise<KnownEvent[]>;
  /** Kills the worker that runs the generation. Resolves once another one has been started in its place: with whether one has taken over, false where the generation had ended before. */
  killWorkerOf(id: string, tenant?: Tenant): Promise<boolean>;
  /** By the native API, past the proxy. */
  cancel(id: string, tenant?: Tenant): Promise<void>;
}

export async function startPlatform({
  workers = 1,
  moderation = false,
}: PlatformOptions = {}): Promise<Platform> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ tenants: TENANTS, ackWaitMs: 5_000 }));
  await moderateTenants(cluster);
  const generations = await watchGenerations(cluster.broker, SHARDS);
  // One after the other: a busy machine is slow to start many processes at once, and the broker waits for none of them long.
  const first = await cluster.startDelivery();
  const second = await cluster.startDelivery();
  const running: WorkerProcess[] = [];
  while (running.length < workers) running.push(await cluster.startWorker());
  if (moderation) await cluster.startModeration();
  const nodes = [first.url, second.url] as const;
  let cuts = 0;
  /** After how many bytes the connection that is made now is cut. */
  let cutAfterBytes = Infinity;
  const proxy = stack.use(
    await startTcpProxy({
      target: (index) => ({ port: Number(new URL(nodes[index % 2]!).port) }),
      tap: () => countCut(cutAfterBytes, () => cuts++),
    }),
  );
  const kept = stack.move();
  return {
    cluster,
    nodes,
    url: `http://${proxy.host}:${proxy.port}`,
    get cuts() {
      return cuts;
    },
    key: (tenant = "plain") => cluster.keys[tenant]!,
    cutNext(random, { count, from = 200, to = 6_000 }) {
      let left = count;
      proxy.setFaults(() => {
        cutAfterBytes = left > 0 ? random.integer(from, to) : Infinity;
        left--;
        return { toClient: { cutAfterBytes } };
      });
      return {
        [Symbol.dispose]() {
          left = 0;
          proxy.cutNow();
        },
      };
    },
    cutNow: () => void (cuts += proxy.cutNow()),
    runs: async (tenant = "plain") => (await generations.list(tenant)).length,
    untilSaid: (deltas, tenant = "plain") => generations.untilSaid(deltas, tenant),
    untilLog: (id, holds, tenant = "plain") => cluster.untilLog(tenant, id, holds),
    async killWorkerOf(id, tenant = "plain") {
      const events = await cluster.untilLog(tenant, id, (log) => log.some(isStarted));
      workerOf(events, running).kill("SIGKILL");
      running.push(await cluster.startWorker());
      const isTakenOver = (log: KnownEvent[]) =>
        log.filter(isStarted).length > events.filter(isStarted).length;
      const hasEnded = (log: KnownEvent[]) => log.some(({ type }) => isTerminal(type));
      return isTakenOver(await cluster.untilLog(tenant, id, (log) => isTakenOver(log) || hasEnded(log)));
    },
    async cancel(id, tenant = "plain") {
      const headers = { authorization: `Bearer ${cluster.keys[tenant]}` };
      const response = await fetch(`${first.url}/v1/generations/${id}/cancel`, { method: "POST", headers });
      if (!response.ok) throw new Error(`cancel: ${response.status} ${await response.text()}`);
    },
    async [Symbol.asyncDispose]() {
      generations.stop();
      await kept.disposeAsync();
    },
  };
}

/** Calls back once as many bytes have gone to the client. */
function countCut(afterBytes: number, onCut: () => void): ConnectionTap {
  let bytes = 0;
  return {
    toServer: () => undefined,
    toClient({ length }) {
      if (bytes < afterBytes && bytes + length >= afterBytes) onCut();
      bytes += length;
    },
  };
}

/** Gives the tenants their policies, before a node reads them. */
async function moderateTenants({ tenantsFile }: Cluster): Promise<void> {
  const { tenants } = JSON.parse(await readFile(tenantsFile, "utf8")) as {
    tenants: { id: string; policy: object }[];
  };
  const moderated = tenants.map((tenant) =>
    tenant.id === "plain"
      ? tenant
      : {
          ...tenant,
          policy: { ...tenant.policy, moderation: { mode: tenant.id, rules: ["cards"], ...PATIENT } },
        },
  );
  await writeFile(tenantsFile, JSON.stringify({ tenants: moderated }));
}

/** Longer than moderation is busy, on any machine. */
const PATIENT = { on_unavailable: { after_ms: 600_000 } };

const isStarted = (event: KnownEvent) => event.type === "generation.started";

function workerOf(events: readonly KnownEvent[], workers: readonly WorkerProcess[]): WorkerProcess {
  const name = events.flatMap((event) => (event.type === "generation.started" ? [event.worker] : [])).at(-1);
  const worker = workers.find(({ id }) => id === name);
  if (!worker) throw new Error(`No worker of this platform has the id ${name}.`);
  return worker;
}
