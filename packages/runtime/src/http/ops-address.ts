import type { HttpAddress } from "./listen-http.ts";

/** OpenTelemetry's port for exporters that Prometheus scrapes. */
const OPS_PORT = 9_464;

export interface OpsEnvironment {
  readonly REPRISE_OPS_HOST: string;
  readonly REPRISE_OPS_PORT: number | undefined;
}

/** Where health and metrics of a process without an API are; undefined: it does not serve them. */
export function opsAddressOf(env: OpsEnvironment): HttpAddress | undefined {
  const { REPRISE_OPS_HOST: host, REPRISE_OPS_PORT: port } = env;
  return port === undefined ? undefined : { host, port };
}

/** Where they are in a process with an API: always on a port of their own, and on a free one where the API is on a free one. */
export function opsAddressBesideApi(env: OpsEnvironment & { readonly REPRISE_PORT: number }): HttpAddress {
  const fallback = env.REPRISE_PORT === 0 ? 0 : OPS_PORT;
  return { host: env.REPRISE_OPS_HOST, port: env.REPRISE_OPS_PORT ?? fallback };
}
