import { expect, test } from "vitest";
import { isAllowed, readLicences } from "./licences.ts";

test.each([
  "MIT",
  "(MIT OR GPL-3.0-only)",
  "MIT AND ISC",
  "GPL-3.0-only OR (MIT AND Apache-2.0)",
  "GPL-2.0-only AND ISC OR MIT",
])("%s may be handed on", (expression) => {
  expect(isAllowed(expression)).toBe(true);
});

test.each([
  "GPL-3.0-only",
  "MIT AND GPL-3.0-only",
  "MIT AND (GPL-3.0-only OR AGPL-3.0-only)",
  "SEE LICENSE IN licence.txt",
  "Apache-2.0 WITH LLVM-exception",
  "MIT OR",
  "(MIT",
  "MIT)",
  "UNLICENSED",
  "none",
  "",
])("%j may not", (expression) => {
  expect(isAllowed(expression)).toBe(false);
});

test("a package without a licence, or with one that is not allowed, is named; links are counted where they lead", () => {
  const packages = new Map([
    ["node_modules/zod", { version: "4.0.0", license: "MIT" }],
    ["node_modules/a/node_modules/@b/c", { version: "1.0.0", license: "GPL-3.0-only" }],
    ["node_modules/bare", { version: "2.0.0" }],
    ["node_modules/@reprise/log", { link: true, resolved: "packages/log" }],
  ]);
  const { problems, counts } = readLicences(packages);
  expect(problems).toEqual([
    "@b/c@1.0.0 has the licence GPL-3.0-only, which is not allowed",
    "bare@2.0.0 has the licence none, which is not allowed",
  ]);
  expect([...counts]).toEqual([
    ["MIT", 1],
    ["GPL-3.0-only", 1],
    ["none", 1],
  ]);
});
