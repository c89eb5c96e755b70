import { describe, expect, test } from "vitest";
import { findRuntimePackages, packageName } from "./runtime-packages.ts";

const version = "1.0.0";
const packages = {
  "": { version, devDependencies: { shared: "*" } },
  "services/one": {
    name: "@r/one",
    version,
    dependencies: { "@r/log": "*", nested: "*" },
    devDependencies: { test: "*" },
  },
  "services/two": { name: "@r/two", version, devDependencies: { shared: "*" } },
  "packages/log": { name: "@r/log", version, dependencies: { shared: "*" } },
  "node_modules/@r/one": { link: true, resolved: "services/one" },
  "node_modules/@r/log": { link: true, resolved: "packages/log" },
  "node_modules/shared": { version, optionalDependencies: { "for-linux": "*", "for-mac": "*" } },
  "node_modules/for-linux": { version },
  "node_modules/nested": {
    version,
    dependencies: { shared: "*" },
    peerDependencies: { peer: "*", extra: "*" },
    peerDependenciesMeta: { extra: { optional: true } },
  },
  "node_modules/nested/node_modules/shared": { version: "0.9.0" },
  "node_modules/peer": { version },
  "node_modules/extra": { version },
  "node_modules/test": { version },
};

describe("what a workspace needs to run", () => {
  test("is what its dependencies need, through other workspaces, each at the place where Node finds it", () => {
    const found = findRuntimePackages({ packages }, ["node_modules/@r/one"]);
    expect([...found.packages.keys()].toSorted()).toEqual([
      "node_modules/@r/log",
      "node_modules/@r/one",
      "node_modules/for-linux",
      "node_modules/nested",
      "node_modules/nested/node_modules/shared",
      "node_modules/peer",
      "node_modules/shared",
      "packages/log",
      "services/one",
    ]);
    expect(found.absent).toEqual(["for-mac"]);
  });

  test("is nothing of what only its development needs", () => {
    expect([...findRuntimePackages({ packages }, ["services/two"]).packages.keys()]).toEqual([
      "services/two",
    ]);
  });

  test("must be in the lockfile", () => {
    const lock = { packages: { a: { version, dependencies: { missing: "*" } } } };
    expect(() => findRuntimePackages(lock, ["a"])).toThrow("package-lock.json has no missing, which a needs");
    expect(() => findRuntimePackages(lock, ["b"])).toThrow("package-lock.json has no b");
  });
});

test("a package has the name of its folder, unless the lockfile says another one", () => {
  expect(packageName("node_modules/a/node_modules/@b/c", {})).toBe("@b/c");
  expect(packageName("node_modules/alias", { name: "real" })).toBe("real");
  expect(packageName("services/one", { name: "@r/one" })).toBe("@r/one");
});
