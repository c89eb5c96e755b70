import { expect, test } from "vitest";
import { installCommand, type ProgramName } from "./install-command.ts";
import type { Machine } from "./machine.ts";

const linux = (ids: string, major?: number, arch = "x64"): Machine => ({
  platform: "linux",
  arch,
  ids: ids.split(" "),
  major,
});
const MACOS: Machine = { platform: "darwin", arch: "arm64", ids: [], major: undefined };
const RELEASE = "https://github.com/nats-io/nats-server/releases/download/v2.15.0/nats-server-v2.15.0";
const BUILD = `GOBIN="$PWD/.reprise/bin" go install github.com/nats-io/nats-server/v2@v2.15.0`;

test("there is one command for nats-server on every system", () => {
  const commands = [
    MACOS,
    linux("debian", 14),
    linux("debian"),
    linux("debian", 12),
    linux("ubuntu debian", 24),
    linux("fedora", 44, "arm64"),
    linux("rocky rhel centos fedora", 10),
    linux("linuxmint ubuntu debian", 22),
    linux("kali debian", 2_026),
    linux("ubuntu debian", 24, "riscv64"),
    linux("arch"),
    { platform: "win32", arch: "x64", ids: [], major: undefined } as const,
  ].map((machine) => installCommand(machine, ["nats-server"]));
  const deb = `curl -fLO ${RELEASE}-amd64.deb && sudo apt-get install -y ./nats-server-v2.15.0-amd64.deb`;
  expect(commands).toEqual([
    "brew install nats-server",
    "sudo apt-get install -y nats-server",
    "sudo apt-get install -y nats-server",
    deb,
    deb,
    `sudo dnf install -y ${RELEASE}-arm64.rpm`,
    `sudo dnf install -y ${RELEASE}-amd64.rpm`,
    deb,
    deb,
    BUILD,
    BUILD,
    BUILD,
  ]);
});

test("after a wrong sum no command gets another file of the same release", () => {
  const install = (machine: Machine) => installCommand(machine, ["nats-server"], { isReleaseTrusted: false });
  expect([MACOS, linux("debian", 14), linux("ubuntu debian", 24), linux("fedora", 44)].map(install)).toEqual([
    "brew install nats-server",
    "sudo apt-get install -y nats-server",
    BUILD,
    BUILD,
  ]);
});

test("several programs are installed by one line", () => {
  const programs: ProgramName[] = ["redis-server", "chromium"];
  const chromium = "npx playwright-core install --with-deps chromium";
  const install = (machine: Machine) => installCommand(machine, programs);
  expect([MACOS, linux("debian", 12), linux("ubuntu debian", 24), linux("fedora", 44)].map(install)).toEqual([
    `brew install redis && ${chromium}`,
    "sudo apt-get install -y redis-server chromium",
    `sudo apt-get install -y redis-server && ${chromium}`,
    "sudo dnf install -y valkey-compat-redis chromium",
  ]);
});

test("no command is made up for a system whose packages are not known", () => {
  expect(installCommand(linux("arch"), ["redis-server"])).toBeUndefined();
  expect(installCommand(linux("ubuntu debian", 24), ["redis-server", "prometheus"])).toBeUndefined();
});
