import { expect, test } from "vitest";
import type { LockedPackage, Lockfile } from "../../../../scripts/release/versions.ts";
import { findNeeds } from "./find-needs.ts";

const DEPENDENCIES = { "@reprise/log": "*", fastify: "*" };

const lockOf = (packages: Record<string, LockedPackage>): Lockfile => ({
  packages: {
    "services/delivery": { version: "0.1.0", dependencies: DEPENDENCIES, devDependencies: { vitest: "*" } },
    "packages/log": { version: "0.1.0", dependencies: { nats: "*" } },
    "test/clients": { version: "0.1.0", devDependencies: { react: "*" } },
    "node_modules/@reprise/log": { resolved: "packages/log", link: true },
    "node_modules/fastify": { version: "5.0.0", integrity: "sha512-f" },
    "node_modules/nats": { version: "3.0.0", integrity: "sha512-n" },
    ...packages,
  },
});

test("what services need to run is theirs and their packages', and nothing that tests and tools need beside it", () => {
  const needs = ["node_modules/fastify 5.0.0 sha512-f", "node_modules/nats 3.0.0 sha512-n"];
  expect(findNeeds(lockOf({}))).toEqual(needs);
  const more = { "node_modules/react": { version: "19.0.0" }, "node_modules/vitest": { version: "5.0.0" } };
  expect(findNeeds(lockOf(more))).toEqual(needs);
});

test.each([
  ["a version", { "node_modules/nats": { version: "3.0.1", integrity: "sha512-n" } }],
  ["a content", { "node_modules/nats": { version: "3.0.0", integrity: "sha512-m" } }],
  ["a place", { "packages/log/node_modules/nats": { version: "2.0.0", integrity: "sha512-o" } }],
])("%s makes a difference", (_, packages) => {
  expect(findNeeds(lockOf(packages))).not.toEqual(findNeeds(lockOf({})));
});
