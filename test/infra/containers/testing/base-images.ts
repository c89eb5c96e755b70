import { createReadStream } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { findNatsServer } from "@reprise/service";
import { createTempDir } from "@reprise/testkit";
import { readAptSources } from "../../../../scripts/debian/apt-sources.ts";
import { run } from "../../../../scripts/pack/run.ts";
import { ensurePrometheus } from "../../../../scripts/programs/ensure-prometheus.ts";
import { docker, hasImage, ROOT } from "./docker.ts";

/*
 * In place of the images that docker-compose.yml and the Dockerfile name, which a machine without a registry can't have: a Debian of this
 * machine's release with this project's Node, and the programs that this machine has.
 */

const DEBIAN = "reprise-test/debian";
/** What testkit starts brokers from, where TEST_BROKER_IMAGE names it. */
export const NATS_IMAGE = "reprise-test/nats";
const PACKAGES = ["ca-certificates", "libstdc++6", "nginx-light", "redis-server", "wget"];
/** What this machine trusts: a registry may be reached through a proxy of its own. */
const CA_FILE = "/etc/ssl/certs/ca-certificates.crt";
const DATA_DIR = join(ROOT, ".reprise");

/** By the variables of docker-compose.yml, and NODE_IMAGE of the Dockerfile. */
export interface BaseImages {
  readonly NODE_IMAGE: string;
  readonly NATS_IMAGE: string;
  readonly REDIS_IMAGE: string;
  readonly NGINX_IMAGE: string;
  readonly PROMETHEUS_IMAGE: string;
}

/** Makes them once; the engine keeps them. */
export async function ensureBaseImages(): Promise<BaseImages> {
  if (!(await hasImage(DEBIAN))) await makeDebian();
  const natsServer = await findNatsServer(process.env, DATA_DIR);
  const { prometheus } = await ensurePrometheus(DATA_DIR);
  return {
    NODE_IMAGE: DEBIAN,
    NATS_IMAGE: await addProgram(NATS_IMAGE, natsServer.path),
    REDIS_IMAGE: DEBIAN,
    NGINX_IMAGE: DEBIAN,
    PROMETHEUS_IMAGE: await addProgram("reprise-test/prometheus", prometheus),
  };
}

async function makeDebian(): Promise<void> {
  await using dir = await createTempDir("debian");
  const folder = join(dir.path, "root");
  const mirror = /https?:\/\/\S*debian\.org\/debian\b/.exec(JSON.stringify(await readAptSources()))?.[0];
  const release = /^VERSION_CODENAME=(.*)$/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? "stable";
  const include = `--include=${PACKAGES.join(",")}`;
  await run("debootstrap", ["--variant=minbase", include, release, folder, ...(mirror ? [mirror] : [])]);
  await addNode(folder);
  await copyFile(CA_FILE, join(folder, CA_FILE));
  await rm(join(folder, "var/cache/apt"), { recursive: true });
  const archive = join(dir.path, "root.tar");
  await run("tar", ["--directory", folder, "--create", "--file", archive, "."]);
  await importImage(archive);
}

async function addNode(folder: string): Promise<void> {
  const local = join(folder, "usr/local");
  await copyFile(process.execPath, join(local, "bin/node"));
  // `npm root` says where the Node on the path would have one.
  const { stdout } = await run("sh", ["-c", 'readlink -f "$(command -v npm)"']);
  await mkdir(join(local, "lib/node_modules"), { recursive: true });
  await cp(dirname(dirname(stdout.trim())), join(local, "lib/node_modules/npm"), { recursive: true });
  await symlink("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin/npm"));
}

async function importImage(archive: string): Promise<void> {
  const change = `ENV NODE_EXTRA_CA_CERTS=${CA_FILE}`;
  const child = spawn("docker", ["import", "--change", change, "-", DEBIAN], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  createReadStream(archive).pipe(child.stdin);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`docker import ended with ${code}`);
}

async function addProgram(image: string, path: string): Promise<string> {
  await using dir = await createTempDir("image");
  const name = basename(path);
  await copyFile(path, join(dir.path, name));
  const steps = [`FROM ${DEBIAN}`, `COPY --chmod=755 ${name} /usr/local/bin/`, `ENTRYPOINT ["${name}"]`];
  await writeFile(join(dir.path, "Dockerfile"), `${steps.join("\n")}\n`);
  await docker(["build", "--quiet", "--tag", image, dir.path]);
  return image;
}
