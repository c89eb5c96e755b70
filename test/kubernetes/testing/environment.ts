import type { EnvironmentVariable, Resource, Workload } from "./resources.ts";

/** What ConfigMaps and Secrets hold, by name. */
export type Store = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Sources {
  readonly configMaps: Store;
  readonly secrets: Store;
}

export function configMapsOf(resources: readonly Resource[]): Store {
  return Object.fromEntries(
    resources
      .filter(({ kind }) => kind === "ConfigMap")
      .map(({ metadata, data = {} }) => [metadata.name, data]),
  );
}

/**
 * The environment that kubelet gives a container.
 * @throws Error for a reference that leads nowhere, as kubelet does not start such a container
 */
export function environmentOf(
  workload: Workload,
  { configMaps, secrets }: Sources,
  podName = `${workload.name}-0`,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { configMapRef, secretRef } of workload.container.envFrom ?? []) {
    if (configMapRef) Object.assign(env, found(configMaps, configMapRef.name));
    else if (secretRef && !(secretRef.optional && !(secretRef.name in secrets)))
      Object.assign(env, found(secrets, secretRef.name));
  }
  for (const variable of workload.container.env ?? [])
    env[variable.name] = valueOf(variable, { configMaps, secrets }, podName);
  return env;
}

function valueOf(
  { name, value, valueFrom }: EnvironmentVariable,
  { configMaps, secrets }: Sources,
  podName: string,
): string {
  if (value !== undefined) return value;
  const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom ?? {};
  if (fieldRef?.fieldPath === "metadata.name") return podName;
  const data = secretKeyRef
    ? found(secrets, secretKeyRef.name)
    : configMapKeyRef && found(configMaps, configMapKeyRef.name);
  const text = data?.[(secretKeyRef ?? configMapKeyRef)?.key ?? ""];
  if (text === undefined) throw new Error(`${name} has no value.`);
  return text;
}

export function found(store: Store, name: string): Readonly<Record<string, string>> {
  const data = store[name];
  if (data === undefined) throw new Error(`There is no ${name}.`);
  return data;
}

/** `$(NAME)` in a container's arguments. */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\(([A-Z_]+)\)/g, (whole, name: string) => env[name] ?? whole);
}
