import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTempDir } from "@reprise/testkit";
import { installSchemas } from "../../scripts/schemas/install-schemas.ts";
import { type Resource, ROOT } from "./manifests.ts";

const TSC = join(ROOT, "node_modules/@typescript/native/bin/tsc");

/**
 * Modules of TypeScript types: of Kubernetes 1.30, generated from its OpenAPI document; of KEDA 2 and the Prometheus Operator, generated from their
 * custom resources.
 */
const MODULES: Readonly<Record<string, { readonly path: string; readonly prefix: string }>> = {
  v1: { path: "kubernetes-types/core/v1", prefix: "" },
  "apps/v1": { path: "kubernetes-types/apps/v1", prefix: "" },
  "batch/v1": { path: "kubernetes-types/batch/v1", prefix: "" },
  "policy/v1": { path: "kubernetes-types/policy/v1", prefix: "" },
  "networking.k8s.io/v1": { path: "kubernetes-types/networking/v1", prefix: "" },
  "keda.sh/v1alpha1": { path: "@kubernetes-models/keda/keda.sh/v1alpha1/index", prefix: "I" },
  "monitoring.coreos.com/v1": {
    path: "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/index",
    prefix: "I",
  },
};

/** KEDA's types allow any metadata of a trigger. These are the ones of its Prometheus scaler that the manifests use, by its documentation. */
const TRIGGER = `
interface Trigger {
  type: "prometheus";
  metricType: "AverageValue";
  metadata: { serverAddress: string; query: string; threshold: string; ignoreNullValues: "true" | "false" };
}
`;

/**
 * Type-checks manifests against the types of Kubernetes and of its extensions: returns unknown, missing and wrong fields; empty if there are none.
 *
 * @throws Error for a kind of an API without types here
 */
export async function typeErrors(resources: readonly Resource[]): Promise<string> {
  const packages = await installSchemas();
  await using dir = await createTempDir("kubernetes-types");
  const checks = resources.flatMap((resource, i) => {
    const constant = (name: string, type: string, value: unknown) =>
      `export const ${name}${i}: ${type} = ${JSON.stringify(value, null, 2)};\n`;
    const { spec } = resource;
    return [
      constant("resource", typeOf(resource, packages), resource),
      ...(spec && "triggers" in spec ? [constant("triggers", "Trigger[]", spec.triggers)] : []),
    ];
  });
  const file = join(dir.path, "manifests.ts");
  await writeFile(file, [TRIGGER, ...checks].join("\n"));
  const options = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--ignoreConfig",
    "--module",
    "preserve",
    "--pretty",
    "false",
  ];
  return await promisify(execFile)(process.execPath, [TSC, ...options, file], { cwd: dir.path }).then(
    () => "",
    (error: Error & { stdout?: string }) => error.stdout || error.message,
  );
}

function typeOf({ apiVersion, kind, metadata }: Resource, packages: string): string {
  const module = MODULES[apiVersion];
  if (!module) throw new Error(`${kind} ${metadata.name}: there are no types of ${apiVersion} here`);
  return `import(${JSON.stringify(join(packages, module.path))}).${module.prefix}${kind}`;
}
