import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Where Debian has servers that are for root, beside what a user's PATH has. */
const FOR_ROOT = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** PATH, and where programs for root are. */
export const searchPath = (): string => [process.env["PATH"] ?? "", ...FOR_ROOT].join(delimiter);

/** What tests below `test/infra` need of the machine. */
export interface Suite {
  /** The beginning of the paths of its tests, from `test/infra` on. */
  readonly name: string;
  /** Programs on PATH, and what brings them. */
  readonly programs: Readonly<Record<string, string>>;
  /** Commands that have to succeed, and what brings that about. */
  readonly commands?: Readonly<Record<string, string>>;
}

const COMPOSE = {
  "docker compose version":
    "Compose 2.24 or later: Debian package docker-compose, of Debian 13 or later; or npm run docker:engine",
};
const DOCKER: Omit<Suite, "name"> = {
  programs: { docker: "Debian package docker.io", debootstrap: "Debian package debootstrap, run as root" },
  commands: {
    "docker info": "a Docker engine that answers: npm run docker:engine, or name yours in DOCKER_HOST",
    ...COMPOSE,
    "docker buildx version": "Debian package docker-buildx, of Debian 13 or later; or npm run docker:engine",
  },
};

export const SUITES: readonly Suite[] = [
  { name: "containers/broker", ...DOCKER },
  { name: "containers/config", programs: { docker: "Debian package docker.io" }, commands: COMPOSE },
  { name: "containers/images", ...DOCKER },
  { name: "containers/minimal", ...DOCKER },
  { name: "containers/compose", ...DOCKER },
  { name: "containers/roll", ...DOCKER },
  { name: "proxies/caddy", programs: { caddy: "Debian package caddy" } },
  { name: "proxies/haproxy", programs: { haproxy: "Debian package haproxy" } },
  { name: "proxies/nginx", programs: { nginx: "Debian package nginx" } },
];

/**
 * The suites that arguments name by the beginnings of their names, up to a slash; without any all.
 *
 * @throws Error when an argument names none
 */
export function chooseSuites(names: readonly string[]): Suite[] {
  const isNamed = (suite: Suite, name: string) => `${suite.name}/`.startsWith(`${name}/`);
  for (const name of names)
    if (!SUITES.some((suite) => isNamed(suite, name)))
      throw new Error(
        `no suite is named ${name}; there are: ${SUITES.map((suite) => suite.name).join(", ")}`,
      );
  return SUITES.filter((suite) => names.length === 0 || names.some((name) => isNamed(suite, name)));
}

/** What suites need and the machine does not have, in words. */
export function findMissing(suites: readonly Suite[], path: string): string[] {
  return suites.flatMap(({ name, programs, commands = {} }) => [
    ...Object.entries(programs)
      .filter(([program]) => !isOnPath(program, path))
      .map(([program, source]) => `${name} needs ${program} on PATH (${source})`),
    ...Object.entries(commands)
      .filter(([command]) => !succeeds(command, path))
      .map(([command, source]) => `${name}: ${command} fails (${source})`),
  ]);
}

/** Whether a command, words with spaces between them, ends with 0. */
export function succeeds(command: string, path: string): boolean {
  const [program = "", ...args] = command.split(" ");
  return spawnSync(program, args, { env: { ...process.env, PATH: path }, stdio: "ignore" }).status === 0;
}

export function isOnPath(program: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}
