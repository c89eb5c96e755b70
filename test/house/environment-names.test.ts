import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ENVIRONMENT_TABLE } from "@reprise/runtime";
import { describe, expect, test } from "vitest";
import { readDockerfileEnvironment } from "../containers/testing/dockerfile.ts";
import { SERVICE_PARSERS } from "../containers/testing/service-parsers.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const known = new Set<string>(ENVIRONMENT_TABLE.map(({ name }) => name));

/** Every document, and every file that a platform is set up with. */
const FILES = globSync(
  ["**/*.md", "infra/**", "Dockerfile", "docker-compose.yml", ".ci/*", ".github/**", "scripts/**"],
  { cwd: ROOT, exclude: ["**/node_modules/**", ".reprise/**"], withFileTypes: true },
)
  .filter((entry) => entry.isFile() && !/\.(?:png|svg)$/.test(entry.name))
  .map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length))
  .toSorted();

/** `REPRISE_TLS_…` means all names with that prefix. */
function unknownNames(text: string): string[] {
  return [...text.matchAll(/REPRISE_[A-Z0-9_]*[A-Z0-9](_…)?/g)]
    .filter(([name, rest]) =>
      rest === undefined ? !known.has(name) : ![...known].some((one) => one.startsWith(name.slice(0, -1))),
    )
    .map(([name]) => name);
}

test("no document and no file of the set-up names an environment variable that does not exist", () => {
  expect(FILES).toEqual(
    expect.arrayContaining([
      "Dockerfile",
      "docs/operations/containers.md",
      "docs/runbooks/resume.md",
      "infra/kubernetes/base/delivery.yml",
      "services/delivery/README.md",
    ]),
  );
  const unknown = FILES.map((path) => [path, unknownNames(readFileSync(join(ROOT, path), "utf8"))]);
  expect(unknown.filter(([, names]) => names!.length > 0)).toEqual([]);
});

test("a name that does not exist is found, and so is the beginning of none", () => {
  expect(unknownNames("set `REPRISE_PORT`, `REPRISE_PROT` and `REPRISE_LTS_…`")).toEqual([
    "REPRISE_PROT",
    "REPRISE_LTS_…",
  ]);
});

describe("the ENV of the Dockerfile", () => {
  const env = readDockerfileEnvironment();

  test("has variables of the table, and Node's", () => {
    expect(Object.keys(env).filter((name) => !known.has(name))).toEqual(["NODE_ENV"]);
    expect(Object.keys(env).length).toBeGreaterThan(1);
  });

  test.each(Object.keys(SERVICE_PARSERS))("is what %s takes", (service) => {
    const required = {
      REPRISE_NATS_URL: "nats://127.0.0.1:4222",
      REPRISE_WITNESS_LOGS: "reprise+0a0b0c0d+AQ==",
    };
    const { REPRISE_OPS_PORT: opsPort, REPRISE_OPS_HOST: host } = env;
    expect(SERVICE_PARSERS[service]!({ ...required, ...env })).toMatchObject({
      REPRISE_OPS_PORT: Number(opsPort),
      REPRISE_OPS_HOST: host,
    });
  });
});
