import { describe, expect, test } from "vitest";
import { typeErrors } from "./testing/kubernetes-types.ts";
import { BUILDS, buildOverlay } from "./testing/overlay.ts";

describe.each(BUILDS)("the overlay %s", (name) => {
  test("has the types of Kubernetes", async () => {
    expect(await typeErrors(await buildOverlay(name))).toBe("");
  });
});

test.each([
  [
    "a field that there is not",
    { restartPolicyy: "Always" },
    /restartPolicyy"?' does not exist in type 'PodSpec'/,
  ],
  ["a field of the wrong type", { priority: "high" }, /Type 'string' is not assignable to type 'number'/],
])("%s is found", async (_what, field, message) => {
  const { spec, ...rest } = (await buildOverlay("dev")).find(({ kind }) => kind === "StatefulSet")!;
  const template = { ...spec!.template!, spec: { ...spec!.template!.spec, ...field } };
  expect(await typeErrors([{ ...rest, spec: { ...spec, template } }])).toMatch(message);
});

test.each([
  ["ScaledObject", { minReplicas: 2 }, /minReplicas"?' does not exist in type 'IScaledObjectSpec'/],
  ["ScaledObject", { pollingInterval: "15s" }, /Type 'string' is not assignable to type 'number'/],
  [
    "ScaledObject",
    { triggers: [{ type: "prometheus", metricType: "AverageValue", metadata: { url: "http://x" } }] },
    /Object literal may only specify known properties, and '"url"' does not exist/,
  ],
  ["PodMonitor", { podMetricsEndpoints: [{ prot: "ops" }] }, /prot"?' does not exist in type 'IPodMetrics/],
])("in a %s %o is found", async (kind, field, message) => {
  const { spec, ...rest } = (await buildOverlay("all components")).find(
    (resource) => resource.kind === kind,
  )!;
  expect(await typeErrors([{ ...rest, spec: { ...spec, ...field } }])).toMatch(message);
});
