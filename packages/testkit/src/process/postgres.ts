import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RepriseError } from "@reprise/protocol";
import { spawnSupervised, type SupervisedProcess } from "@reprise/service";
import { ensurePostgres, type PostgresPrograms } from "../../../../scripts/programs/ensure-postgres.ts";
import { findFreePort, startOnFreePorts } from "../network/free-port.ts";
import { findProcessesIn } from "./inspect-process.ts";
import { createTempDir } from "./temp-dir.ts";

export interface TestPostgres extends AsyncDisposable {
  readonly port: number;
  /** A superuser's, with a password. */
  readonly url: string;
  /** Ends all its processes by SIGKILL, as a power loss does, but for what the operating system has of its writes. */
  kill(): Promise<void>;
  /** Starts it again on its port, with what it had stored. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestPostgresOptions {
  /** PEM files. Default: it speaks no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
}

const run = promisify(execFile);
const DATA_DIR = fileURLToPath(new URL("../../../../.reprise", import.meta.url));
/** The server refuses to run as root. */
const NOBODY = 65_534;
const USER = "reprise";
/** A killed process has ended after so long, and is looked for as often. */
const KILL_MS = 120_000;
const KILL_PAUSE_MS = 5;
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] as const;
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  // Shared memory in its own folder, which is removed with it.
  dynamic_shared_memory_type: "mmap",
  shared_buffers: "16MB",
  // What a killed process has written is there, whether it was synced or not.
  fsync: "off",
  lc_messages: "C",
};

/**
 * Starts an empty PostgreSQL on a free port of 127.0.0.1, which never outlives this process: the machine's own, or one that is fetched from its
 * Debian archive. As root it is run as `nobody`.
 * @throws Error when there is none and none can be fetched, or it does not start
 */
export async function startPostgres({ tls, settings = {} }: TestPostgresOptions = {}): Promise<TestPostgres> {
  const found = await ensurePostgres(process.env["REPRISE_DATA_DIR"] ?? DATA_DIR);
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await createTempDir("postgres"));
  const isRoot = process.getuid?.() === 0;
  const give = async (file: string) => void (isRoot && (await chown(file, NOBODY, NOBODY)));
  await give(path);
  const { dir: programs, env } = isRoot ? await readable(found, path) : found;
  const prefix = isRoot ? AS_NOBODY : [];
  const dir = join(path, "data");
  const password = randomBytes(12).toString("hex");
  const passwordFile = join(path, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  await give(passwordFile);
  const initdb = [join(programs, "initdb"), "-D", dir, "-U", USER, `--pwfile=${passwordFile}`, "--no-sync"];
  const [file = "", ...args] = [...prefix, ...initdb, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"];
  await run(file, args, { cwd: path, env: { ...process.env, ...env } });
  const all: Record<string, string> = { ...SETTINGS, ...settings };
  if (tls) {
    for (const [name, from] of Object.entries(tls)) {
      const to = join(path, name);
      await copyFile(from, to);
      await chmod(to, 0o600);
      await give(to);
      all[`ssl_${name}_file`] = to;
    }
    all["ssl"] = "on";
  }
  const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const command = [...prefix, join(programs, "postgres"), "-D", dir] as [string, ...string[]];
  let port = 0;
  const start = () => startServer([...command, "-p", String(port), ...options], env);
  let server = await startOnFreePorts(async () => {
    port = await findFreePort();
    return start();
  });
  const kept = stack.move();
  const postmaster = async () => Number((await readFile(join(dir, "postmaster.pid"), "utf8")).split("\n")[0]);
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    // At once: to TERM it would wait for those that are connected.
    await postmaster().then(
      (pid) => signalIfThere(pid, "SIGINT"),
      () => {},
    );
    await server.stop();
    await kept.disposeAsync();
  };
  return {
    port,
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
    async kill() {
      signalIfThere(await postmaster(), "SIGKILL");
      await server.exited;
      // Its children hold the memory that they share with it, without which it can't be started again.
      for (const giveUpMs = performance.now() + KILL_MS; await killAllIn(dir);) {
        if (performance.now() > giveUpMs)
          throw new Error(`Processes of PostgreSQL in ${dir} can't be killed.`);
        await pause(KILL_PAUSE_MS);
      }
    },
    async restart() {
      server = await start();
    },
    stop: () => (stopped ??= stop()),
    [Symbol.asyncDispose]: () => (stopped ??= stop()),
  };
}

async function startServer(
  command: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
): Promise<SupervisedProcess> {
  const server = await spawnSupervised(command, { output: "pipe", stopGraceS: 2, environment });
  const said: string[] = [];
  server.stdout?.resume();
  const lines = createInterface({ input: server.stderr! });
  const isReady = await new Promise<boolean>((resolve) => {
    // Goes on reading after the line that matters, so that the server never waits for a full pipe.
    lines.on("line", (line) => {
      said.push(line);
      if (said.length > 20) said.shift();
      if (line.includes("database system is ready to accept connections")) resolve(true);
    });
    lines.on("close", () => resolve(false));
  });
  if (isReady) return server;
  await server.stop();
  throw new RepriseError("config_invalid", `PostgreSQL did not start: ${said.join("\n")}`);
}

/** Programs that `nobody` can run: a copy of those in a folder that only root may enter. */
async function readable(programs: PostgresPrograms, path: string): Promise<PostgresPrograms> {
  const { dir, fetched } = programs;
  if (fetched === undefined) return programs;
  const [file, ...args] = [...AS_NOBODY, "test", "-r", join(dir, "postgres")] as const;
  const isReadable = await run(file, args, { cwd: path }).then(
    () => true,
    () => false,
  );
  if (isReadable) return programs;
  const copy = join(path, "programs");
  await mkdir(copy);
  await cp(fetched, copy, { recursive: true });
  return {
    dir: join(copy, relative(fetched, dir)),
    env: Object.fromEntries(
      Object.entries(programs.env).map(([name, value]) => [name, value.replaceAll(fetched, copy)]),
    ),
  };
}

/** Kills the processes that work in a folder. @returns whether there was one */
async function killAllIn(dir: string): Promise<boolean> {
  const pids = await findProcessesIn(dir);
  for (const pid of pids) signalIfThere(pid, "SIGKILL");
  return pids.length > 0;
}

function signalIfThere(pid: number, signal: "SIGINT" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
