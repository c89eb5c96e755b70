import { RepriseError } from "@reprise/protocol";

/** `seed`: what the bucket never had is created from the file. `file`: the bucket is made equal to it. */
export type TenantsSource = "seed" | "file";

/** @throws RepriseError `config_invalid` when there is no file that could own the tenants */
export function tenantsSourceOf(env: {
  readonly REPRISE_TENANTS_SOURCE: TenantsSource;
  readonly REPRISE_TENANTS_FILE: string | undefined;
}): TenantsSource {
  const { REPRISE_TENANTS_SOURCE: source, REPRISE_TENANTS_FILE: file } = env;
  if (source === "seed" || file !== undefined) return source;
  const message = "REPRISE_TENANTS_SOURCE is `file`, but REPRISE_TENANTS_FILE is not set.";
  throw new RepriseError("config_invalid", message, { param: "REPRISE_TENANTS_SOURCE" });
}
