import { join } from "node:path";
import { patientConfig } from "./patient-config.ts";

/** One node's addresses and folder, fixed for all of its lives. */
export interface NodeLayout {
  /** `node-1`, `node-2`, …: what nats-server calls it too. */
  readonly name: string;
  readonly dir: string;
  readonly port: number;
  readonly routePort: number;
  readonly monitorPort: number;
}

export function storeDirOf({ dir }: NodeLayout): string {
  return join(dir, "store");
}

export interface NodeFiles {
  readonly config: string;
  readonly log: string;
  readonly pid: string;
}

export function nodeFiles({ dir }: NodeLayout): NodeFiles {
  return {
    config: join(dir, "nats-server.json"),
    log: join(dir, "nats-server.log"),
    pid: join(dir, "nats-server.pid"),
  };
}

/**
 * nats-server's configuration of one of these nodes, which all know of each other.
 * @param extraConfig further fields
 */
export function encodeNodeConfig(
  node: NodeLayout,
  nodes: readonly NodeLayout[],
  extraConfig: Readonly<Record<string, unknown>>,
): string {
  const files = nodeFiles(node);
  const host = "127.0.0.1";
  return JSON.stringify({
    server_name: node.name,
    host,
    port: node.port,
    http: `${host}:${node.monitorPort}`,
    max_payload: 8 * 1_024 * 1_024,
    pid_file: files.pid,
    log_file: files.log,
    jetstream: { store_dir: storeDirOf(node), max_memory_store: 64 * 1_024 * 1_024 },
    cluster: {
      name: "reprise",
      host,
      port: node.routePort,
      routes: nodes.map(({ routePort }) => `nats://${host}:${routePort}`),
      // Clients are configured with all addresses.
      no_advertise: true,
    },
    ...patientConfig(extraConfig),
  });
}
