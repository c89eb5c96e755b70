import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export const ROOT = join(import.meta.dirname, "../../..");

export interface ComposeService {
  readonly image: string;
  readonly pull_policy?: string;
  readonly build?: { readonly context: string; readonly target: string; readonly args: readonly string[] };
  readonly mem_limit?: string;
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly profiles?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly stop_signal?: string;
  readonly stop_grace_period?: string;
  readonly network_mode?: string;
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address?: string }>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly extra_hosts?: readonly string[];
}

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** `docker-compose.yml` as Compose reads it where no variable is set. */
export function readComposeFile(): ComposeFile {
  const text = readFileSync(join(ROOT, "docker-compose.yml"), "utf8");
  const set = text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1");
  return parse(set, { merge: true }) as ComposeFile;
}

export interface Mount {
  /** The name of a volume, or a path of the repository. */
  readonly source: string;
  readonly target: string;
  readonly modes: readonly string[];
}

export function mountsOf({ volumes = [] }: ComposeService): Mount[] {
  return volumes.map((text) => {
    const [source = "", target = "", modes = ""] = text.split(":");
    return { source, target, modes: modes.split(",") };
  });
}

export function networksOf({ networks = [] }: ComposeService): string[] {
  return Array.isArray(networks) ? [...networks] : Object.keys(networks);
}

/** The image's name after `localhost/reprise/`; undefined for a program that is not ours. */
export function imageOf({ image }: ComposeService): string | undefined {
  return /^localhost\/reprise\/([\w-]+):/.exec(image)?.[1];
}
