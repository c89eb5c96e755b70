import { dirname } from "node:path";
import { parseEnvironment } from "@reprise/service";
import { NATS_SERVER } from "../releases/releases.ts";
import type { Machine } from "./machine.ts";

/** What the platform and its tests run and don't carry. */
export type ProgramName = "nats-server" | "redis-server" | "postgres" | "prometheus" | "chromium";

/** A package of the system's manager, or a command of its own. */
type Way = string | ((machine: Machine) => string);

interface System {
  readonly install: string;
  /** A program that is missing here is in no package, or only in one that is too old. */
  readonly ways: Readonly<Partial<Record<ProgramName, Way>>>;
}

/** The project's own, whatever mirror is set: the mirror may have had the wrong file. */
const { REPRISE_DOWNLOAD_URL: OFFICIAL_URL } = parseEnvironment({}, ["REPRISE_DOWNLOAD_URL"]);
const RELEASE_URL = `${OFFICIAL_URL}/${dirname(NATS_SERVER.archive(""))}`;
const PACKAGE_PROCESSORS: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Go builds from source, checked against Go's database of sums, for any processor. */
const buildNatsServer = () =>
  `GOBIN="$PWD/.reprise/bin" go install github.com/nats-io/nats-server/v2@v${NATS_SERVER.version}`;

/** The release's own package: the system's may be older than 2.12. */
const releasedNatsServer =
  (suffix: "deb" | "rpm") =>
  (machine: Machine): string => {
    const processor = PACKAGE_PROCESSORS[machine.arch];
    if (processor === undefined) return buildNatsServer();
    const file = `nats-server-v${NATS_SERVER.version}-${processor}.${suffix}`;
    if (suffix === "rpm") return `sudo dnf install -y ${RELEASE_URL}/${file}`;
    return `curl -fLO ${RELEASE_URL}/${file} && sudo apt-get install -y ./${file}`;
  };

/** Playwright's own Chromium, for systems that have none, or one in a sandbox that a test can't get into. */
const playwrightChromium = () => "npx playwright-core install --with-deps chromium";

const MACOS: System = {
  install: "brew install",
  ways: {
    "nats-server": "nats-server",
    "redis-server": "redis",
    postgres: "postgresql@17",
    prometheus: "prometheus",
    chromium: playwrightChromium,
  },
};

const DEBIAN_14: System = {
  install: "sudo apt-get install -y",
  ways: {
    "nats-server": "nats-server",
    "redis-server": "redis-server",
    postgres: "postgresql",
    prometheus: "prometheus promtool",
    chromium: "chromium",
  },
};

const DEBIAN: System = {
  install: "sudo apt-get install -y",
  ways: {
    "nats-server": releasedNatsServer("deb"),
    "redis-server": "redis-server",
    postgres: "postgresql",
    chromium: "chromium",
  },
};

const UBUNTU: System = { ...DEBIAN, ways: { ...DEBIAN.ways, chromium: playwrightChromium } };

const FEDORA: System = {
  install: "sudo dnf install -y",
  ways: {
    "nats-server": releasedNatsServer("rpm"),
    // Fedora's Redis is Valkey; this package has its programs under the names of Redis's.
    "redis-server": "valkey-compat-redis",
    postgres: "postgresql-server",
    chromium: "chromium",
  },
};

const OTHER: System = { install: "", ways: { "nats-server": buildNatsServer } };

/**
 * One line for a shell that installs programs on a machine; undefined when there is none that is known to give all of them.
 *
 * @param isReleaseTrusted false once a release's file had a wrong sum: then no line gets another file of that release
 */
export function installCommand(
  machine: Machine,
  programs: readonly ProgramName[],
  { isReleaseTrusted = true } = {},
): string | undefined {
  const { install, ways } = systemOf(machine);
  const wanted = programs.map((program) => {
    const way = ways[program];
    const isFromRelease = program === "nats-server" && typeof way === "function";
    return isFromRelease && !isReleaseTrusted ? buildNatsServer : way;
  });
  if (wanted.includes(undefined)) return undefined;
  const packages = wanted.filter((way) => typeof way === "string");
  const commands = wanted.flatMap((way) => (typeof way === "function" ? [way(machine)] : []));
  return [...(packages.length > 0 ? [`${install} ${packages.join(" ")}`] : []), ...commands].join(" && ");
}

function systemOf({ platform, ids, major }: Machine): System {
  if (platform === "darwin") return MACOS;
  if (platform !== "linux") return OTHER;
  for (const id of ids) {
    if (id === "ubuntu") return UBUNTU;
    if (id === "debian") return id === ids[0] && (major === undefined || major >= 14) ? DEBIAN_14 : DEBIAN;
    if (id === "fedora" || id === "rhel") return FEDORA;
  }
  return OTHER;
}
