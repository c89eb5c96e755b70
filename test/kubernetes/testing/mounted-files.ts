import { join } from "node:path";
import { found, type Sources } from "./environment.ts";
import type { Volume, Workload } from "./resources.ts";

export interface MountedFile {
  /** In the container. */
  readonly path: string;
  readonly text: string;
  readonly isSecret: boolean;
}

/**
 * The files that kubelet puts into a container.
 * @throws Error for a reference that leads nowhere
 */
export function mountedFiles({ pod, container }: Workload, sources: Sources): MountedFile[] {
  return (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const volume = pod.volumes?.find((candidate) => candidate.name === name);
    return volume === undefined
      ? []
      : filesOf(volume, sources).map((file) => ({ ...file, path: join(mountPath, file.path) }));
  });
}

function filesOf({ secret, configMap, projected }: Volume, { secrets, configMaps }: Sources): MountedFile[] {
  if (secret) return all(found(secrets, secret.secretName), true);
  if (configMap) return all(found(configMaps, configMap.name), false);
  return (projected?.sources ?? []).flatMap((source) => {
    const { name, items } = source.secret ?? source.configMap ?? { name: "", items: [] };
    const data = found(source.secret ? secrets : configMaps, name);
    return items.map(({ key, path }) => {
      const text = data[key];
      if (text === undefined) throw new Error(`${name} has no ${key}.`);
      return { path, text, isSecret: source.secret !== undefined };
    });
  });
}

function all(data: Readonly<Record<string, string>>, isSecret: boolean): MountedFile[] {
  return Object.entries(data).map(([path, text]) => ({ path, text, isSecret }));
}
