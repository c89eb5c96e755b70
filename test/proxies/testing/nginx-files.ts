import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTempDir, createTestCertificates, findFreePort } from "@reprise/testkit";

const CONFIGURATION = fileURLToPath(new URL("../../../infra/proxies/nginx/", import.meta.url));
const FILES = ["nginx.conf", "upstream.conf", "delivery.conf", "servers/http.conf", "servers/https.conf"];

/** Two delivery nodes, each `host:port`, in place of `delivery-1:8080` and `delivery-2:8080` of the files. */
export type Upstreams = readonly [string, string];

export interface NginxOptions {
  readonly upstreams: Upstreams;
  /** Seconds without a byte from delivery after which a stream is broken off; default: as in the files. */
  readonly idleTimeoutS?: number;
  /** Seconds that streams have after a reload; default: as in the files. */
  readonly graceS?: number;
}

export interface NginxFiles extends AsyncDisposable {
  readonly dir: string;
  readonly httpPort: number;
  readonly tlsPort: number;
  /** Certificate of the authority that has signed nginx's, in PEM. */
  readonly ca: string;
}

/**
 * Copies `infra/proxies/nginx` and replaces what differs on this machine: addresses, ports, paths, and the times that a test asks for.
 *
 * @throws Error when the files lack a text that should be replaced
 */
export async function copyNginxFiles({
  upstreams,
  idleTimeoutS = 60,
  graceS = 30,
}: NginxOptions): Promise<NginxFiles> {
  await using stack = new AsyncDisposableStack();
  const temporary = stack.use(await createTempDir("nginx"));
  const certificates = await createTestCertificates(join(temporary.path, "tls"));
  const { cert, key } = await certificates.issue("proxy", ["127.0.0.1"]);
  const dir = join(temporary.path, "nginx");
  const [httpPort, tlsPort] = [await findFreePort(), await findFreePort()];
  await cp(CONFIGURATION, dir, { recursive: true });
  await replaceIn(dir, [
    ["delivery-1:8080", upstreams[0]],
    ["delivery-2:8080", upstreams[1]],
    ["/tmp/", `${dir}/`],
    ["listen 8080", `listen ${httpPort}`],
    ["listen 8443", `listen ${tlsPort}`],
    ["/etc/reprise/tls/proxy.crt", cert],
    ["/etc/reprise/tls/proxy.key", key],
    ["proxy_read_timeout 60s", `proxy_read_timeout ${idleTimeoutS}s`],
    ["worker_shutdown_timeout 30s", `worker_shutdown_timeout ${graceS}s`],
  ]);
  const ca = await readFile(certificates.ca, "utf8");
  const kept = stack.move();
  return { dir, httpPort, tlsPort, ca, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function replaceIn(dir: string, replaced: readonly (readonly [string, string])[]): Promise<void> {
  const missing = new Set(replaced.map(([from]) => from));
  for (const name of FILES) {
    let text = await readFile(join(dir, name), "utf8");
    for (const [from, to] of replaced) {
      if (text.includes(from)) missing.delete(from);
      text = text.replaceAll(from, to);
    }
    await writeFile(join(dir, name), text);
  }
  if (missing.size > 0) throw new Error(`infra/proxies/nginx does not have: ${[...missing].join(", ")}`);
}
