import { chmod, mkdir, open, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { findNatsServer, spawnSupervised } from "@reprise/service";
import { bundleProgram } from "@reprise/testkit";
import { environmentOf, expand, type Sources } from "./environment.ts";
import { mountedFiles } from "./mounted-files.ts";
import { DATA_DIR } from "./overlay.ts";
import type { Probe, Workload } from "./resources.ts";

/** A pod of an overlay as a process of this machine: the manifest's command, environment, files and probes, at an address of its own. */
export interface PlayedPod extends AsyncDisposable {
  readonly name: string;
  readonly address: string;
  /** Where what it has written to stdout and stderr lies. */
  readonly logFile: string;
  /** Whether a probe of the manifest would succeed now. */
  probe(kind: "startup" | "readiness" | "liveness"): Promise<boolean>;
  /** What its port for health and metrics answers. */
  get(path: string): Promise<string>;
  /** Runs the manifest's preStop. */
  preStop(): Promise<number>;
  /** Resolves with its exit code. */
  readonly exited: Promise<number>;
  /** SIGTERM, and SIGKILL after the manifest's grace period. @returns the exit code */
  stop(): Promise<number>;
}

export interface PlayOptions {
  readonly workload: Workload;
  readonly name: string;
  readonly address: string;
  /** A folder of its own. */
  readonly dir: string;
  readonly sources: Sources;
  /** Names of the cluster's DNS, as addresses. */
  readonly resolve: (text: string) => string;
}

/** Where Node keeps compiled modules, if this process was told: compiling is half of what a service takes to start. */
const { NODE_COMPILE_CACHE } = process.env;
const COMPILE_CACHE = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Starts it, as kubelet would, but for the container: no file system of its own, no user, no limits. */
export async function playPod({
  workload,
  name,
  address,
  dir,
  sources,
  resolve,
}: PlayOptions): Promise<PlayedPod> {
  const { container, pod } = workload;
  const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => mountPath);
  // At once, and the longest first: a path may begin another.
  const pattern = new RegExp(mounts.toSorted((a, b) => b.length - a.length).join("|") || "$^", "g");
  const here = (text: string): string =>
    resolve(text)
      .replaceAll(pattern, (path) => join(dir, path))
      .replaceAll("0.0.0.0", address);

  for (const path of mounts) await mkdir(join(dir, path), { recursive: true });
  for (const { path, text, isSecret } of mountedFiles(workload, sources)) {
    const file = join(dir, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, here(text));
    await chmod(file, isSecret ? 0o440 : 0o444);
  }

  const given = environmentOf(workload, sources, name);
  const environment = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, here(value)]));
  const args = (container.args ?? []).map((arg) => here(expand(arg, given)));
  const logFile = join(dir, "log");
  const log = await open(logFile, "w");
  const child = await spawnSupervised([...(await programOf(workload)), ...args], {
    inherit: false,
    environment: { PATH: process.env["PATH"] ?? "", ...COMPILE_CACHE, ...environment },
    output: log.fd,
    stopGraceS: pod.terminationGracePeriodSeconds ?? 30,
  });
  await log.close();
  const exited = child.exited.then(({ code }) => code);

  const portOf = (port: string) =>
    container.ports?.find((candidate) => candidate.name === port)?.containerPort;
  const ask = (path: string, port: string) => fetch(`http://${address}:${portOf(port)}${path}`);
  const probes = {
    startup: container.startupProbe,
    readiness: container.readinessProbe,
    liveness: container.livenessProbe,
  };
  const stop = async (): Promise<number> => {
    await child.stop();
    return exited;
  };
  return {
    name,
    address,
    logFile,
    exited,
    stop,
    probe: (kind) => succeeds(probes[kind], ask, { address, portOf }),
    get: async (path) => (await ask(path, "ops")).text(),
    async preStop() {
      const [, ...command] = container.lifecycle?.preStop?.exec?.command ?? [];
      const hook = await spawnSupervised([...(await programOf(workload)), ...command.map(here)]);
      return (await hook.exited).code;
    },
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

async function programOf({ container }: Workload): Promise<[string, ...string[]]> {
  const image = container.image.split(":")[0] ?? "";
  if (image === "nats") return [(await findNatsServer(process.env, DATA_DIR)).path];
  if (image === "redis") return ["redis-server"];
  const name = image.replace("reprise/", "");
  // The images' entry points.
  if (name === "set-up") return [process.execPath, await bundleProgram("infra/nats/main.ts"), "set-up"];
  return [process.execPath, await bundleProgram(`services/${name}/src/main.ts`)];
}

async function succeeds(
  probe: Probe | undefined,
  ask: (path: string, port: string) => Promise<Response>,
  { address, portOf }: { address: string; portOf: (port: string) => number | undefined },
): Promise<boolean> {
  const { httpGet, tcpSocket } = probe ?? {};
  if (httpGet)
    return ask(httpGet.path, httpGet.port).then(
      ({ ok }) => ok,
      () => false,
    );
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: portOf(tcpSocket?.port ?? "") ?? 0 });
    const end = (isUp: boolean): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
