import { join } from "node:path";
import { parseEnvironment, ENVIRONMENT_TABLE } from "@reprise/service";
import { expect, test } from "vitest";
import { openCluster, readmeBlock } from "./testing/cluster.ts";
import { configMapsOf, environmentOf, type Sources } from "./testing/environment.ts";
import { typeErrors } from "./testing/kubernetes-types.ts";
import { mountedFiles } from "./testing/mounted-files.ts";
import { buildFolder, buildOverlay, FOLDER } from "./testing/overlay.ts";
import { workloadsOf } from "./testing/resources.ts";

/* The two Jobs that are applied by themselves, beside an overlay that runs. */

const NAMES = ["REPRISE_NATS_URL", "REPRISE_NATS_NKEY", "REPRISE_NATS_CA"] as const;
const known = new Set<string>(ENVIRONMENT_TABLE.map(({ name }) => name));

async function readJob(name: string) {
  const resources = await buildFolder(join(FOLDER, name));
  const [workload] = workloadsOf(resources);
  return { resources, workload: workload! };
}

async function putByReadme(): Promise<Sources> {
  await using cluster = await openCluster((commands) => commands);
  await cluster.run(await readmeBlock("openssl req"));
  await cluster.run(await readmeBlock("put configmap internal-ca"));
  return { configMaps: await cluster.configMaps(), secrets: await cluster.secrets() };
}

test.each([
  ["backup", ["backup", "/backup/$(POD_NAME)"], "POD_NAME"],
  ["restore", ["restore", "/backup/$(FOLDER)", "--replicas", "3"], "FOLDER"],
] as const)(
  "the Job of infra/kubernetes/%s reaches the broker as admin, like the one that makes the streams",
  async (name, args, folder) => {
    const { resources, workload } = await readJob(name);
    expect(await typeErrors(resources)).toBe("");
    const overlay = await buildOverlay("production");
    const setUp = workloadsOf(overlay).find(({ name: own }) => own === "nats-set-up")!;
    const put = await putByReadme();
    const sources = {
      ...put,
      configMaps: { ...put.configMaps, ...configMapsOf([...overlay, ...resources]) },
    };
    const env = environmentOf(workload, sources);
    const ofSetUp = environmentOf(setUp, sources);
    for (const variable of NAMES) expect([variable, env[variable]]).toEqual([variable, ofSetUp[variable]]);
    expect(Object.keys(env).filter((variable) => !known.has(variable))).toEqual([folder]);
    parseEnvironment(env, NAMES);
    const paths = mountedFiles(workload, sources).map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining([env["REPRISE_NATS_NKEY"], env["REPRISE_NATS_CA"]]));

    const { container, pod, labels } = workload;
    expect(container).toMatchObject({ args: ["infra/nats/main.js", ...args] });
    expect(container.image).toBe(setUp.container.image);
    // Network policies know it by these.
    expect(labels).toEqual(setUp.labels);
    expect(container.securityContext).toEqual(setUp.container.securityContext);
    expect([pod.securityContext, pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([
      setUp.pod.securityContext,
      false,
      false,
    ]);
    const claimed = pod.volumes?.find((volume) => volume.name === "backup");
    expect(claimed).toMatchObject({ persistentVolumeClaim: { claimName: "nats-backup" } });
  },
);
