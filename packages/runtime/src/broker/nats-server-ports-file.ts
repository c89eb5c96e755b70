import { readdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";

export interface ServerAddress {
  readonly pid: number;
  readonly port: number;
}

export interface PortsFileWatch extends Disposable {
  /** Resolves once; stays pending when the watch is disposed of first. */
  readonly found: Promise<ServerAddress>;
}

/**
 * Waits for the file that nats-server writes into its `ports_file_dir` when it accepts clients:
 * `nats-server_<pid>.ports`, holding `{"nats":["nats://127.0.0.1:<port>"]}`.
 *
 * The directory must be empty. The file appears before its content does, so it is read after every change until it is whole.
 */
export function watchPortsFile(dir: string): PortsFileWatch {
  const { promise: found, resolve } = Promise.withResolvers<ServerAddress>();
  const look = (): void => {
    for (const name of readdirSync(dir)) {
      const address = parsePortsFile(name, readIfThere(join(dir, name)));
      if (address) resolve(address);
    }
  };
  const watcher = watch(dir, look);
  return { found, [Symbol.dispose]: () => watcher.close() };
}

/** The server removes its file when it ends, which may be between the listing and the reading. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Undefined for a file that is not whole yet, or not of this kind. */
export function parsePortsFile(name: string, content: string): ServerAddress | undefined {
  const pid = /_([0-9]+)\.ports$/.exec(name)?.[1];
  const port = /"nats":\s*\[\s*"[a-z]+:\/\/[^"]*:([0-9]+)"/.exec(content)?.[1];
  return pid === undefined || port === undefined ? undefined : { pid: Number(pid), port: Number(port) };
}
