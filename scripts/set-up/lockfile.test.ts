import { expect, test } from "vitest";
import { isInstalled, lockedNodeVersion } from "./lockfile.mjs";

const zod = { version: "4.6.7", integrity: "sha512-a" };
const wanted = {
  packages: {
    "": {},
    "packages/stream": { version: "0.0.0" },
    "node_modules/@reprise/stream": { resolved: "packages/stream", link: true },
    "node_modules/zod": zod,
    "node_modules/for-another-machine": { version: "1.0.0", integrity: "sha512-b", optional: true },
  },
};
const installed = {
  packages: {
    "node_modules/@reprise/stream": { resolved: "packages/stream", link: true },
    "node_modules/zod": zod,
  },
};

test("what npm ci installed is up to date, though binaries for other machines are missing", () => {
  expect(isInstalled(wanted, installed)).toBe(true);
});

test("a clone without node_modules is not up to date", () => {
  expect(isInstalled(wanted, undefined)).toBe(false);
});

test("a package that is missing, of another version or of other content is not up to date", () => {
  const withZod = (other: object) => ({
    packages: { ...installed.packages, "node_modules/zod": { ...zod, ...other } },
  });
  const { "node_modules/zod": _zod, ...withoutZod } = installed.packages;

  expect(isInstalled(wanted, { packages: withoutZod })).toBe(false);
  expect(isInstalled(wanted, withZod({ version: "4.6.6" }))).toBe(false);
  expect(isInstalled(wanted, withZod({ integrity: "sha512-c" }))).toBe(false);
});

test("a workspace that npm has not linked yet is not up to date", () => {
  expect(isInstalled(wanted, { packages: { "node_modules/zod": zod } })).toBe(false);
});

test("the version of Node is the one that the lockfile pins", () => {
  expect(lockedNodeVersion({ packages: { "node_modules/node": { version: "24.21.0" } } })).toBe("24.21.0");
  expect(() => lockedNodeVersion(wanted)).toThrow("no package `node`");
});
