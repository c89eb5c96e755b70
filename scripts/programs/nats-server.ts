import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findNatsServer } from "@reprise/runtime";
import { runProgram } from "../run-program.ts";

/** The oldest Debian release whose nats-server is 2.12 or newer. */
const SUITE = "forky";
const ETC_APT = "/etc/apt";

/**
 * Finds a nats-server that is new enough, or fetches Debian's into the data folder.
 *
 * @returns its absolute path
 * @throws Error that says what to install
 */
export async function ensureNatsServer(dataDir: string): Promise<string> {
  try {
    return (await findNatsServer(process.env, dataDir)).path;
  } catch (error) {
    // A named binary is used or fails; no other takes its place.
    if (process.env["REPRISE_NATS_SERVER"]) throw error;
  }
  try {
    await fetchNatsServer(dataDir, await readDebianSources());
  } catch (error) {
    throw new Error(
      `nats-server can't be fetched: ${(error as Error).message}\n` +
        "Install nats-server 2.12 or newer, so that it is on PATH (Homebrew: nats-server), or name its binary in REPRISE_NATS_SERVER.",
      { cause: error },
    );
  }
  return (await findNatsServer(process.env, dataDir)).path;
}

/**
 * Unpacks the package's binary, which needs libc alone, into `<dataDir>/bin`. Needs no root: apt works with sources, lists and an idea of what is
 * installed of its own. It takes only the machine's settings for downloads, and not its hooks.
 */
async function fetchNatsServer(dataDir: string, sources: Sources): Promise<void> {
  if (Object.values(sources).join("") === "")
    throw new Error("there is no Debian archive among this machine's package sources");
  console.error("Fetching nats-server from this machine's Debian archive…");
  await mkdir(join(dataDir, "bin"), { recursive: true });
  const dir = await mkdtemp(join(dataDir, "fetch-"));
  try {
    for (const folder of ["sources", "lists/partial", "archives/partial"])
      await mkdir(join(dir, folder), { recursive: true });
    for (const [name, text] of Object.entries(sources)) await writeFile(join(dir, "sources", name), text);
    await writeFile(join(dir, "status"), "");
    await writeFile(join(dir, "apt.conf"), await aptSettings(dir));
    // Another vendor's archive that lacks the suite fails an update, and the package may still be there.
    const script =
      "apt-get -qq update; apt-get -qq download nats-server && dpkg -x nats-server_*.deb . && mv usr/*bin/nats-server .";
    await runProgram("sh", ["-c", script], {
      cwd: dir,
      env: { APT_CONFIG: join(dir, "apt.conf"), LC_ALL: "C" },
    });
    // One step: another process sees the whole binary or none.
    await rename(join(dir, "nats-server"), join(dataDir, "bin/nats-server"));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function aptSettings(dir: string): Promise<string> {
  const machine = (await runProgram("apt-config", ["dump"]))
    .split("\n")
    .filter((line) => line.startsWith("Acquire::"));
  const own = {
    "Dir::Etc::main": "/dev/null",
    "Dir::Etc::parts": "/dev/null",
    "Dir::Etc::sourcelist": "/dev/null",
    "Dir::Etc::sourceparts": join(dir, "sources"),
    "Dir::Etc::preferences": "/dev/null",
    "Dir::Etc::preferencesparts": "/dev/null",
    "Dir::State": dir,
    "Dir::State::status": join(dir, "status"),
    "Dir::Cache": dir,
    "Acquire::Languages": "none",
    // Run as root, apt would hand its downloads to a user who may not enter the data folder.
    "APT::Sandbox::User": "root",
  };
  return [...machine, ...Object.entries(own).map(([name, value]) => `${name} "${value}";`), ""].join("\n");
}

/** The machine's Debian archives with the suite `forky`, in both forms that apt reads. Mirror, key and options stay as they are. */
export interface Sources {
  readonly "debian.list": string;
  readonly "debian.sources": string;
}

async function readDebianSources(): Promise<Sources> {
  const parts = await readdir(join(ETC_APT, "sources.list.d")).catch(() => []);
  const paths = ["sources.list", ...parts.map((part) => join("sources.list.d", part))];
  const texts = (extension: string) =>
    Promise.all(
      paths
        .filter((path) => path.endsWith(extension))
        .map((path) => readFile(join(ETC_APT, path), "utf8").catch(() => "")),
    );
  return toDebianSources((await texts(".list")).join("\n"), (await texts(".sources")).join("\n\n"));
}

/** @param lines entries of one line each @param stanzas entries of fields (deb822) */
export function toDebianSources(lines: string, stanzas: string): Sources {
  const entries = lines.split("\n").flatMap((line) => {
    const [, head = "", uri = ""] = /^\s*(deb\s+(?:\[[^\]]*\]\s+)?(\S+))\s+\S+\s+.*\bmain\b/.exec(line) ?? [];
    return isDebianArchive(uri, head) ? [`${head} ${SUITE} main\n`] : [];
  });
  const fields = stanzas
    .replaceAll(/^#.*\n?/gm, "")
    .split(/\n\s*\n/)
    .flatMap((stanza) => {
      const field = (name: string) =>
        new RegExp(`^${name}:(.*(?:\\n[ \\t].*)*)`, "im").exec(stanza)?.[1] ?? "";
      if (!/\bdeb\b(?!-)/.test(field("Types")) || !/\bmain\b/.test(field("Components"))) return [];
      if (/no|false|off|0/i.test(field("Enabled")) || !isDebianArchive(field("URIs"), field("Signed-By")))
        return [];
      const set = (text: string, name: string, value: string) =>
        text.replace(new RegExp(`^${name}:.*(?:\\n[ \\t].*)*`, "im"), `${name}: ${value}`);
      return [`${set(set(set(stanza.trim(), "Types", "deb"), "Suites", SUITE), "Components", "main")}\n`];
    });
  return {
    "debian.list": [...new Set(entries)].join(""),
    "debian.sources": [...new Set(fields)].join("\n"),
  };
}

/** By its path, as mirrors keep `/debian`, or by its key, since a caching proxy may have any path. */
function isDebianArchive(uris: string, key: string): boolean {
  return !/security/.test(uris) && (/\/debian(?:\/|\s|$)/.test(uris) || /debian-archive/.test(key));
}
