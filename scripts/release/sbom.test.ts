import { expect, test } from "vitest";
import { findSbomProblems } from "./sbom.ts";

const packages = new Map([
  ["node_modules/zod", { version: "4.6.7" }],
  ["node_modules/@r/log", { link: true, resolved: "packages/log" }],
  ["packages/log", { name: "@r/log", version: "1.0.0" }],
]);
const options = { subject: { name: "r", version: "1.0.0" }, type: "application", packages } as const;
const sbom = (purls: readonly string[], subject = "pkg:npm/r@1.0.0", bomFormat = "CycloneDX") =>
  JSON.stringify({
    bomFormat,
    metadata: { component: { purl: subject } },
    components: purls.map((purl) => ({ purl })),
  });
const LOG = "pkg:npm/%40r/log@1.0.0";
const ZOD = "pkg:npm/zod@4.6.7";

test("a bill of materials that lists each package once and no link is fine", () => {
  expect(findSbomProblems(sbom([LOG, ZOD]), options)).toEqual([]);
});

test.each([
  [sbom([LOG]), "zod@4.6.7 is missing"],
  [sbom([LOG, "pkg:npm/zod@4.6.6", ZOD]), "zod@4.6.6 is no part of it"],
  [sbom([LOG, ZOD], "pkg:npm/other@1.0.0"), "the subject is other@1.0.0, not r@1.0.0"],
  [sbom([LOG, ZOD], "pkg:npm/r@1.0.0", "SPDX"), "the format is SPDX, not CycloneDX"],
])("%s: %s", (text, problem) => {
  expect(findSbomProblems(text, options)).toEqual([`SBOM of r: ${problem}`]);
});

test("what is in it beside packages of npm has to be listed too", () => {
  const node = {
    type: "platform",
    name: "node",
    version: "24.21.0",
    purl: "pkg:generic/node@24.21.0",
    licenses: [{ license: { id: "MIT" } }],
  } as const;
  const others = [node];
  expect(findSbomProblems(sbom([LOG, ZOD, node.purl]), { ...options, others })).toEqual([]);
  expect(findSbomProblems(sbom([LOG, ZOD]), { ...options, others })).toEqual([
    "SBOM of r: pkg:generic/node@24.21.0 is missing",
  ]);
});
