// `npm run docker:engine`, on Debian as root: brings what `npm run test:infra -- containers` needs, and runs a Docker engine until it is stopped.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { fetchPrograms } from "../../../scripts/debian/fetch-programs.ts";
import { isOnPath, searchPath, succeeds } from "../needs.ts";

/** Not where Debian's service has its engine: neither sees what the other one has. */
const RUN = "/run/reprise-docker";
const DATA = "/var/lib/reprise-docker";
const HOST = `unix://${RUN}/docker.sock`;
/** Programs, and the packages of the machine's own release that bring them. */
const PACKAGES = { dockerd: "docker.io", debootstrap: "debootstrap" };
/** Of a later release: Debian 12 has neither as a plugin. */
const PLUGINS = ["docker-compose", "docker-buildx"];

const env = { ...process.env, PATH: searchPath() };

try {
  installPackages();
  await installPlugins();
  if (succeeds("docker info", env.PATH)) console.error("A Docker engine answers already.");
  else process.exitCode = await runEngine();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function installPackages(): void {
  const missing = Object.entries(PACKAGES).filter(([program]) => !isOnPath(program, env.PATH));
  if (missing.length === 0) return;
  const names = missing.map(([, name]) => name);
  for (const args of [["update"], ["install", "--yes", "--no-install-recommends", ...names]]) {
    const { status, error } = spawnSync("apt-get", args, { env, stdio: "inherit" });
    if (status !== 0) throw error ?? new Error(`apt-get ${args.join(" ")} ended with ${status}`);
  }
}

async function installPlugins(): Promise<void> {
  const names = PLUGINS.filter((name) => !succeeds(`${name.replace("-", " ")} version`, env.PATH));
  if (names.length === 0) return;
  const folder = process.env["DOCKER_CONFIG"] ?? join(homedir(), ".docker");
  console.error(`Fetching ${names.join(" and ")} from this machine's Debian archive to ${folder}…`);
  await fetchPrograms(names, folder, "cli-plugins");
}

/** @returns dockerd's exit code */
async function runEngine(): Promise<number> {
  const exec = ["--exec-root", join(RUN, "exec"), "--pidfile", join(RUN, "dockerd.pid")];
  const args = ["--host", HOST, "--data-root", DATA, ...exec, "--log-level", "warn"];
  const child = spawn("dockerd", args, { env, stdio: "inherit" });
  // A terminal sends SIGINT to both.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  console.error(`Its address, once it has started:\n  export DOCKER_HOST=${HOST}`);
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}
