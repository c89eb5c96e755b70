import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { chooseSuites, findMissing, SUITES } from "./needs.ts";

const namesOf = (names: readonly string[]) => chooseSuites(names).map(({ name }) => name);

test("suites are named one by one or by their folder, and without a name all are meant", () => {
  expect(namesOf(["proxies/nginx"])).toEqual(["proxies/nginx"]);
  expect(namesOf(["proxies"])).toEqual(
    SUITES.map(({ name }) => name).filter((name) => name.startsWith("proxies/")),
  );
  expect(namesOf([])).toEqual(SUITES.map(({ name }) => name));
  expect(() => namesOf(["proxies/ngin"])).toThrow(
    "no suite is named proxies/ngin; there are: containers/broker, ",
  );
});

test("each test that `npm test` leaves out is in a suite", () => {
  const tests = globSync("{proxies,containers}/**/*.test.ts", { cwd: import.meta.dirname });
  expect(tests.length).toBeGreaterThan(0);
  expect(tests.filter((path) => !SUITES.some(({ name }) => path.startsWith(name)))).toEqual([]);
});

test("says which program a suite lacks and what brings it", async () => {
  await using dir = await createTempDir("needs");
  const bin = join(dir.path, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "nginx"), "", { mode: 0o755 });
  const suites = chooseSuites(["proxies/nginx", "proxies/haproxy"]);
  expect(findMissing(suites, bin)).toEqual([
    "proxies/haproxy needs haproxy on PATH (Debian package haproxy)",
  ]);
  expect(findMissing(suites, "").length).toBe(2);
});

test("says which command of a suite fails and what brings about that it does not", async () => {
  await using dir = await createTempDir("needs");
  await writeFile(join(dir.path, "docker"), '#!/bin/sh\n[ "$1" = info ]\n', { mode: 0o755 });
  expect(findMissing(chooseSuites(["containers/roll"]), `${dir.path}:/bin`)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^containers\/roll: docker compose version fails \(Compose 2\.24/),
    ]),
  );
  expect(findMissing(chooseSuites(["containers/roll"]), `${dir.path}:/bin`).join("\n")).not.toContain(
    "docker info",
  );
});
