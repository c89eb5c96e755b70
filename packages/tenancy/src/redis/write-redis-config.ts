import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { ensurePrivateDir, openSecretFile, type ServerTls, replaceSecretFile } from "@reprise/runtime";
import { encodeRedisAcl } from "./redis-acl.ts";

export interface RedisConfigOptions {
  /** Where to write; only its owner may enter it then. */
  readonly dir: string;
  /** A name or an address: services connect to it, and Redis listens there. */
  readonly host: string;
  readonly port: number;
  /** Files on Redis's machine, PEM; undefined for Redis without TLS. */
  readonly tls: ServerTls | undefined;
}

export interface WrittenRedisConfig {
  readonly configFile: string;
  /** Each holds the value of `REPRISE_REDIS_URL` for one service. */
  readonly urlFiles: Readonly<Record<"delivery" | "worker", string>>;
}

/**
 * Writes the files that a Redis needs for limits and budgets: its users, and settings under which it keeps nothing on a disk. Existing passwords are kept: one
 * whose file was deleted is made again.
 */
export async function writeRedisConfig({
  dir,
  host,
  port,
  tls,
}: RedisConfigOptions): Promise<WrittenRedisConfig> {
  const folder = resolve(dir);
  await ensurePrivateDir(folder);
  const keep = (user: string) =>
    openSecretFile(join(folder, `${user}.secret`), () => randomBytes(32).toString("base64url"));
  const passwords = {
    delivery: await keep("delivery"),
    worker: await keep("worker"),
    operator: await keep("operator"),
  };
  await replaceSecretFile(join(folder, "users.acl"), encodeRedisAcl(passwords));

  const configFile = join(folder, "redis.conf");
  const settings = {
    bind: host,
    ...(tls
      ? {
          port: 0,
          "tls-port": port,
          "tls-ca-cert-file": tls.caFile,
          "tls-cert-file": tls.certFile,
          "tls-key-file": tls.keyFile,
          "tls-auth-clients": "no",
        }
      : { port }),
    aclfile: join(folder, "users.acl"),
    save: "",
    appendonly: "no",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${JSON.stringify(value)}\n`);
  await replaceSecretFile(configFile, lines.join(""));
  const address = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const writeUrl = async (user: "delivery" | "worker") => {
    const file = join(folder, `${user}.url`);
    await replaceSecretFile(file, `${tls ? "rediss" : "redis"}://${user}:${passwords[user]}@${address}\n`);
    return file;
  };
  return { configFile, urlFiles: { delivery: await writeUrl("delivery"), worker: await writeUrl("worker") } };
}
