import { ENVIRONMENT_TABLE } from "@reprise/service";
import { parseModelsFile } from "@reprise/inference-worker";
import { beforeAll, describe, expect, test } from "vitest";
import { openCluster, readmeBlock } from "./testing/cluster.ts";
import { configMapsOf, environmentOf, type Sources } from "./testing/environment.ts";
import { mountedFiles } from "./testing/mounted-files.ts";
import { buildOverlay, type BuildName, BUILDS } from "./testing/overlay.ts";
import { type Workload, workloadsOf } from "./testing/resources.ts";
import { SERVICE_PARSERS } from "./testing/service-parsers.ts";

/** Variables that are Node's or nats-server's. */
const OTHERS = ["NODE_EXTRA_CA_CERTS", "POD_NAME", "GOMEMLIMIT"];
/** What the README makes later than all else, or has its reader get elsewhere. */
const LATER: Sources = {
  configMaps: { "witness-logs": { vkeys: "reprise+0a0b0c0d+AQ==" } },
  secrets: {
    "delivery-tls": { "tls.crt": "a certificate", "tls.key": "a key" },
    s3: { "key-id": "an id", secret: "a secret" },
  },
};

const known = new Set<string>(ENVIRONMENT_TABLE.map(({ name }) => name));

let put: Sources;
beforeAll(async () => {
  await using cluster = await openCluster((commands) => commands);
  await cluster.run(await readmeBlock("openssl req"));
  await cluster.run(await readmeBlock("put configmap internal-ca"));
  put = { configMaps: await cluster.configMaps(), secrets: await cluster.secrets() };
});

/** All that the overlay and the commands of the README put into the cluster. */
async function sourcesOf(name: BuildName): Promise<Sources> {
  const configMaps = configMapsOf(await buildOverlay(name));
  return {
    configMaps: { ...put.configMaps, ...configMaps, ...LATER.configMaps },
    secrets: { ...put.secrets, ...LATER.secrets },
  };
}

const isFile = (name: string) => /_(?:NKEY|CA|CERT|KEY|FILE|CA_CERTS)$/.test(name);

describe.each(BUILDS)("in the overlay %s", (name) => {
  test("every reference resolves, and every service parses what it is told", async () => {
    const resources = await buildOverlay(name);
    const sources = await sourcesOf(name);
    const parsed = Object.fromEntries(
      workloadsOf(resources).map((workload) => [workload.name, checkWorkload(workload, sources)]),
    );
    expect(Object.keys(parsed).toSorted()).toEqual(
      [...Object.keys(SERVICE_PARSERS), "nats", "nats-set-up", "redis"].toSorted(),
    );
    expect(parsed).toMatchObject({
      delivery: {
        REPRISE_HOST: "0.0.0.0",
        REPRISE_PORT: 8_080,
        REPRISE_OPS_HOST: "0.0.0.0",
        REPRISE_OPS_PORT: 9_464,
        REPRISE_REDIS_URL: expect.stringMatching(
          /^rediss:\/\/delivery:.*@redis\.reprise\.svc\.cluster\.local:6379$/,
        ),
      },
      "audit-log": { REPRISE_AUDIT_WITNESS_URLS: ["http://witness.reprise.svc.cluster.local:8080"] },
      witness: { REPRISE_PORT: 8_080 },
    });
  });

  test("the models file is one that workers take", async () => {
    const { configMaps } = await sourcesOf(name);
    const [text] = Object.values(configMaps).flatMap(({ "models.json": models }) => models ?? []);
    expect([...parseModelsFile(text ?? "", { source: "models.json", env: {} }).keys()]).toEqual(["sim"]);
  });
});

/** @returns what the service's own parser makes of the environment */
function checkWorkload(workload: Workload, sources: Sources): unknown {
  const env = environmentOf(workload, sources);
  const files = mountedFiles(workload, sources);
  expect(Object.keys(env).filter((variable) => !known.has(variable) && !OTHERS.includes(variable))).toEqual(
    [],
  );
  const parse = SERVICE_PARSERS[workload.name];
  if (parse === undefined) return undefined;
  const parsed = parse(env);
  const named = Object.entries({ ...parsed, NODE_EXTRA_CA_CERTS: env["NODE_EXTRA_CA_CERTS"] }).filter(
    ([variable, value]) => isFile(variable) && variable !== "REPRISE_AUDIT_MASTER_KEY" && value !== undefined,
  );
  for (const [variable, path] of named)
    expect({ variable, paths: files.map((file) => file.path) }).toEqual({
      variable,
      paths: expect.arrayContaining([path]),
    });
  const portOf = (port: string) =>
    workload.container.ports?.find((candidate) => candidate.name === port)?.containerPort;
  expect(portOf("ops")).toBe(parsed["REPRISE_OPS_PORT"]);
  expect([undefined, parsed["REPRISE_PORT"]]).toContain(portOf("api"));
  return parsed;
}
