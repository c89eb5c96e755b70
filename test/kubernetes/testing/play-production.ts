import { randomInt } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Cluster, openCluster, readmeBlock } from "./cluster.ts";
import { configMapsOf, type Sources } from "./environment.ts";
import { buildOverlay } from "./overlay.ts";
import { playPod, type PlayedPod } from "./played-pod.ts";
import { type Workload, workloadsOf } from "./resources.ts";

export interface PlayedOverlay extends AsyncDisposable {
  readonly cluster: Cluster;
  pod(name: string): PlayedPod;
  /** The cluster's address of delivery. */
  readonly url: string;
}

const DOMAIN = "reprise.svc.cluster.local";
const SERVERS = [1, 2, 3].map((i) => `nats-${i}.nats.${DOMAIN}`);
const PODS = [
  "nats-1",
  "nats-2",
  "nats-3",
  "redis",
  "witness",
  "delivery",
  "inference-worker",
  "moderation",
  "audit-log",
  "analytics",
  "nats-set-up",
];

/**
 * Brings up one pod of each workload of `production`, and all nats-servers, by the commands of the README: each as a process at an
 * address of its own below 127.0.0.0/8, all of which is this machine on Linux.
 */
export async function playProduction(): Promise<PlayedOverlay> {
  await using stack = new AsyncDisposableStack();
  const network = `127.${randomInt(1, 255)}.${randomInt(256)}`;
  const addressOf = (pod: string) => `${network}.${PODS.indexOf(pod) + 1}`;
  const resolve = (text: string): string => {
    let resolved = text;
    for (const [i, server] of SERVERS.entries())
      resolved = resolved.replaceAll(server, addressOf(`nats-${i + 1}`));
    for (const service of ["redis", "witness"])
      resolved = resolved.replaceAll(`${service}.${DOMAIN}`, addressOf(service));
    return resolved;
  };
  const url = `https://${addressOf("delivery")}:8080`;
  const rewrite = (commands: string): string =>
    resolve(commands).replaceAll("DNS:127", "IP:127").replaceAll("http://127.0.0.1:8080", url);

  const cluster = stack.use(await openCluster(rewrite));
  await cluster.run(await readmeBlock("openssl req"));
  await cluster.run(await readmeBlock("put configmap internal-ca"));
  await cluster.run(`issue delivery IP:${addressOf("delivery")}`);
  await cluster.run(await readmeBlock("put secret generic delivery-tls"));
  // Nothing is to be found where it was made: all that a pod needs is mounted.
  await rm(join(cluster.dir, "secrets/nats"), { recursive: true });
  await rm(join(cluster.dir, "secrets/redis"), { recursive: true });

  const resources = await buildOverlay("production");
  const workloads = workloadsOf(resources);
  const pods = new Map<string, PlayedPod>();
  const sources = async (): Promise<Sources> => ({
    configMaps: { ...(await cluster.configMaps()), ...configMapsOf(resources) },
    secrets: await cluster.secrets(),
  });
  const start = async (workload: Workload, pod: string): Promise<PlayedPod> => {
    const dir = join(cluster.dir, "pods", pod);
    await mkdir(dir, { recursive: true });
    const address = addressOf(pod);
    const played = stack.use(
      await playPod({ workload, name: pod, address, dir, sources: await sources(), resolve }),
    );
    pods.set(pod, played);
    return played;
  };
  const find = (wanted: string) => workloads.find((workload) => workload.name === wanted)!;

  const nats = find("nats");
  const ordinals = Array.from({ length: nats.replicas ?? 1 }, (_, i) => nats.firstOrdinal + i);
  await ready(await Promise.all(ordinals.map((i) => start(nats, `nats-${i}`))));
  const setUp = await start(find("nats-set-up"), "nats-set-up");
  if ((await setUp.exited) !== 0)
    throw new Error(`The streams were not made:\n${await readFile(setUp.logFile, "utf8")}`);
  const others = workloads
    .map((workload) => workload.name)
    .filter((other) => !/^(nats.*|witness)$/.test(other));
  await ready(await Promise.all(others.map((other) => start(find(other), other))));
  await cluster.log("audit-log", pods.get("audit-log")!.logFile);
  await cluster.run(await readmeBlock("put configmap witness-logs"));
  await ready([await start(find("witness"), "witness")]);

  const owned = stack.move();
  return {
    cluster,
    url,
    pod(wanted) {
      const pod = pods.get(wanted);
      if (!pod) throw new Error(`There is no pod ${wanted}.`);
      return pod;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Resolves when all three probes succeed. @throws Error when a pod ends before */
async function ready(pods: readonly PlayedPod[]): Promise<void> {
  await Promise.all(pods.map(untilReady));
}

const POLL_MS = 50;

async function untilReady(pod: PlayedPod): Promise<void> {
  let code: number | undefined;
  void pod.exited.then((exit) => (code = exit));
  for (const kind of ["startup", "readiness", "liveness"] as const)
    while (!(await pod.probe(kind))) {
      if (code !== undefined)
        throw new Error(`${pod.name} ended with ${code}:\n${await readFile(pod.logFile, "utf8")}`);
      await delay(POLL_MS, undefined, { ref: false });
    }
}
