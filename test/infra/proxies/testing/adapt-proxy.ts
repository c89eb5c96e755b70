import { copyFile, cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTempDir, createTestCertificates, findFreePort } from "@reprise/testkit";
import type { ProxyFiles, ProxyKind, Replacement } from "./proxy-kind.ts";

/** What stands for the nodes `delivery-1:8080` and `delivery-2:8080` of the files. */
export interface Upstreams {
  /** Each `host:port`. */
  readonly api: readonly [string, string];
  /** Of health and metrics, on the same hosts. */
  readonly opsPort: number;
}

export interface ProxyOptions {
  readonly upstreams: Upstreams;
  /** Seconds without a byte from delivery after which a stream is broken off; as in the files unless given. */
  readonly idleTimeoutS?: number;
  /** Seconds that streams have after a reload; as in the files unless given. */
  readonly graceS?: number;
}

export interface AdaptedProxy extends ProxyFiles, AsyncDisposable {
  /** The certificate of the authority that has signed the proxy's, in PEM. */
  readonly ca: string;
}

const PROXIES = fileURLToPath(new URL("../../../../infra/proxies/", import.meta.url));

/**
 * Copies `infra/proxies/<name>` to a folder and replaces in it what is different on this machine: addresses, ports, paths, and the times
 * that a test asks for. All else is what operators get.
 *
 * @throws Error when what would be replaced is not in the files: then the copy is not what the test says it is
 */
export async function adaptProxy(kind: ProxyKind, options: ProxyOptions): Promise<AdaptedProxy> {
  await using stack = new AsyncDisposableStack();
  const temporary = stack.use(await createTempDir(kind.name));
  const certificates = await createTestCertificates(join(temporary.path, "tls"));
  const issued = await certificates.issue("proxy", ["127.0.0.1"]);
  // HAProxy finds the key beside a certificate whose name ends so.
  const cert = issued.cert.replace(/pem$/, "crt");
  await copyFile(issued.cert, cert);
  const files: ProxyFiles = {
    dir: join(temporary.path, kind.name),
    httpPort: await findFreePort(),
    tlsPort: await findFreePort(),
    adminPort: await findFreePort(),
    opsPort: options.upstreams.opsPort,
    cert,
    key: issued.key,
  };
  await cp(join(PROXIES, kind.name), files.dir, { recursive: true });
  await replaceIn(files.dir, kind, [...nodes(options), ...kind.replaced(files), ...times(kind, options)]);
  const ca = await readFile(certificates.ca, "utf8");
  const kept = stack.move();
  return { ...files, ca, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function nodes({ upstreams: { api } }: ProxyOptions): Replacement[] {
  return api.map((node, index) => [`delivery-${index + 1}:8080`, node]);
}

function times(kind: ProxyKind, { idleTimeoutS, graceS }: ProxyOptions): Replacement[] {
  const replace = (text: string, seconds: number | undefined): Replacement[] =>
    seconds === undefined ? [] : [[text, text.replace(/\d+s$/, `${seconds}s`)]];
  return [...replace(kind.idleTimeout, idleTimeoutS), ...replace(kind.grace, graceS)];
}

async function replaceIn(dir: string, kind: ProxyKind, replaced: readonly Replacement[]): Promise<void> {
  const missing = new Set(replaced.map(([from]) => from));
  for (const name of kind.files) {
    let text = await readFile(join(dir, name), "utf8");
    for (const [from, to] of replaced) {
      if (text.includes(from)) missing.delete(from);
      text = text.replaceAll(from, to);
    }
    await writeFile(join(dir, name), text);
  }
  if (missing.size > 0)
    throw new Error(`infra/proxies/${kind.name} does not have: ${[...missing].join(", ")}`);
}
