import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTempDir } from "@reprise/testkit";
import { withSetUpLock } from "../../../scripts/set-up/set-up-lock.mjs";
import { DATA_DIR, ROOT } from "./overlay.ts";
import type { Resource } from "./resources.ts";

const run = promisify(execFile);
/** TypeScript types that were generated from the OpenAPI document of Kubernetes 1.30. */
const PACKAGE = "kubernetes-types@1.30.0";
const TSC = join(ROOT, "node_modules/@typescript/native/bin/tsc");

const MODULES: Readonly<Record<string, string>> = {
  v1: "core/v1",
  "apps/v1": "apps/v1",
  "batch/v1": "batch/v1",
  "policy/v1": "policy/v1",
  "networking.k8s.io/v1": "networking/v1",
};

/** As much of KEDA's and the Prometheus Operator's as the manifests use, after their documentation. */
const CUSTOM = `
interface Metadata { name: string; namespace?: string; labels?: Record<string, string> }
interface Policy { type: "Pods" | "Percent"; value: number; periodSeconds: number }
interface ScalingRules { stabilizationWindowSeconds?: number; policies?: Policy[] }
interface ScaledObject {
  apiVersion: "keda.sh/v1alpha1";
  kind: "ScaledObject";
  metadata: Metadata;
  spec: {
    scaleTargetRef: { name: string };
    pollingInterval?: number;
    minReplicaCount?: number;
    maxReplicaCount?: number;
    advanced?: { horizontalPodAutoscalerConfig?: { behavior?: { scaleUp?: ScalingRules; scaleDown?: ScalingRules } } };
    triggers: {
      type: "prometheus";
      metricType?: "AverageValue";
      metadata: { serverAddress: string; query: string; threshold: string; ignoreNullValues?: "true" | "false" };
    }[];
  };
}
interface PodMonitor {
  apiVersion: "monitoring.coreos.com/v1";
  kind: "PodMonitor";
  metadata: Metadata;
  spec: {
    selector: { matchLabels: Record<string, string> };
    podMetricsEndpoints: {
      port: string;
      path?: string;
      interval?: string;
      relabelings?: { sourceLabels: string[]; targetLabel: string; replacement: string }[];
    }[];
  };
}
`;

/** What TypeScript says of manifests against the types of Kubernetes: unknown, missing and wrong fields; empty when it says nothing. */
export async function typeErrors(resources: readonly Resource[]): Promise<string> {
  const types = await ensureTypes();
  await using dir = await createTempDir("kubernetes-types");
  const checks = resources.map((resource, i) => {
    const { apiVersion, kind } = resource;
    const module = MODULES[apiVersion];
    const type = module === undefined ? kind : `import(${JSON.stringify(`${types}/${module}`)}).${kind}`;
    return `export const r${i}: ${type} = ${JSON.stringify(resource, null, 2)};\n`;
  });
  const file = join(dir.path, "manifests.ts");
  await writeFile(file, [CUSTOM, ...checks].join("\n"));
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
  return await run(process.execPath, [TSC, ...options, file], { cwd: dir.path }).then(
    () => "",
    (error: Error & { stdout?: string }) => error.stdout || error.message,
  );
}

async function ensureTypes(): Promise<string> {
  const dir = join(DATA_DIR, "kubernetes-types");
  const types = join(dir, "node_modules/kubernetes-types");
  if (existsSync(join(types, "package.json"))) return types;
  await mkdir(dir, { recursive: true });
  await withSetUpLock(dir, async () => {
    if (existsSync(join(types, "package.json"))) return;
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", "--prefix", dir, ...quiet, PACKAGE]);
  });
  return types;
}
