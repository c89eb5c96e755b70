import { expect, test } from "vitest";
import { MANIFESTS, type Resource, resourcesIn } from "./manifests.ts";
import { typeErrors } from "./type-errors.ts";

const RESOURCES = Object.values(MANIFESTS).flatMap(resourcesIn);

test("all resources have the types of Kubernetes, KEDA and the Prometheus Operator", async () => {
  expect(RESOURCES.length).toBeGreaterThan(30);
  expect(await typeErrors(RESOURCES)).toBe("");
});

test.each([
  ["Deployment", { replica: 2 }, /replica"?' does not exist in type 'DeploymentSpec'/],
  ["Deployment", { replicas: "2" }, /Type 'string' is not assignable to type 'number'/],
  ["ScaledObject", { minReplicas: 2 }, /minReplicas"?' does not exist in type 'IScaledObjectSpec'/],
  ["PodMonitor", { podMetricsEndpoints: [{ prot: "ops" }] }, /prot"?' does not exist in type 'IPodMetrics/],
])("a %s with %o is refused", async (kind, field, message) => {
  const { spec, ...rest } = RESOURCES.find((resource) => resource.kind === kind) as Resource;
  expect(await typeErrors([{ ...rest, spec: { ...spec, ...field } }])).toMatch(message);
});
