import type { SyncInterval } from "../environment/environment-values.ts";
import type { NatsAccounts } from "../broker/nats-users.ts";

/** One nats-server, and where others reach it. */
export interface ConfiguredServer {
  readonly name: string;
  /** A name or an address: clients and the other servers connect to it, and the server listens there. */
  readonly host: string;
  readonly port: number;
  readonly routePort: number;
  readonly storeDir: string;
  /** The most that it stores, such as `18G`. Default: 75 % of what is free when it starts. */
  readonly maxStore?: string | undefined;
}

/** Files on the servers' machines, PEM. */
export interface ServerTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface ServerConfOptions {
  /** All servers of the cluster; one alone is no cluster. */
  readonly servers: readonly ConfiguredServer[];
  readonly tls: ServerTls | undefined;
  readonly syncInterval: SyncInterval | undefined;
  /** The password that servers exchange before they communicate. */
  readonly routePassword: string;
}

const MAX_PAYLOAD_BYTES = 8 * 1_024 * 1_024;
/** For a handshake. nats-server's own 2 s are too few where client and server share a busy machine. */
const TLS_TIMEOUT_S = 10;
const CLUSTER = "reprise";
const ROUTE_USER = "route";

/** The accounts of all servers: users and permissions, and no secret. */
export const ACCOUNTS_FILE = "accounts.conf";

/** nats-server's format, whose values may be JSON. */
function encodeConf(fields: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value, null, 2)}\n`);
  return lines.join("\n");
}

/** The accounts of the platform, and that of the servers' operator. */
export function encodeAccounts(accounts: NatsAccounts, operatorKey: string): string {
  return encodeConf({
    accounts: { ...accounts, SYS: { users: [{ nkey: operatorKey }] } },
    system_account: "SYS",
  });
}

export function encodeServer(server: ConfiguredServer, options: ServerConfOptions): string {
  const { servers, tls, syncInterval, routePassword } = options;
  const secured = tls && {
    cert_file: tls.certFile,
    key_file: tls.keyFile,
    ca_file: tls.caFile,
    timeout: TLS_TIMEOUT_S,
  };
  const others = servers.filter(({ name }) => name !== server.name);
  const cluster = {
    name: CLUSTER,
    listen: `${server.host}:${server.routePort}`,
    authorization: { user: ROUTE_USER, password: routePassword },
    routes: others.map(({ host, routePort }) => `nats://${ROUTE_USER}:${routePassword}@${host}:${routePort}`),
    // Each server shows its certificate to the others.
    ...(secured && { tls: { ...secured, verify: true } }),
  };
  const fields = {
    server_name: server.name,
    listen: `${server.host}:${server.port}`,
    max_payload: MAX_PAYLOAD_BYTES,
    jetstream: {
      store_dir: server.storeDir,
      ...(server.maxStore !== undefined && { max_file_store: server.maxStore }),
      ...(syncInterval && { sync_interval: syncInterval }),
    },
    ...(secured && { tls: secured }),
    ...(others.length > 0 && { cluster }),
  };
  return `${encodeConf(fields)}\ninclude "./${ACCOUNTS_FILE}"\n`;
}
