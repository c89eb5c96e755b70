import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { accountsOf, BROKER_USERS, type BrokerUser, createUserKey, toUserKey } from "@reprise/broker";
import { RepriseError } from "@reprise/protocol";
import { mapUsers } from "../broker/nats-users.ts";
import { ensurePrivateDir } from "../lifecycle/ensure-private-dir.ts";
import { openSecretFile, replaceSecretFile } from "../lifecycle/secret-file.ts";
import {
  ACCOUNTS_FILE,
  type ConfiguredServer,
  encodeAccounts,
  encodeServer,
  type ServerConfOptions,
} from "./server-conf.ts";

export interface NatsConfigOptions extends Pick<ServerConfOptions, "servers" | "tls" | "syncInterval"> {
  /** Where to write; only its owner may enter it then. */
  readonly dir: string;
  /** Number of streams of logs, now or later. */
  readonly shards: number;
}

export interface WrittenNatsConfig {
  /** A configuration for each server, in their order. */
  readonly serverFiles: readonly string[];
  /** The nkey of each user, for `REPRISE_NATS_NKEY`. */
  readonly keyFiles: Readonly<Record<BrokerUser, string>>;
}

const KEYS_DIR = "keys";
/** The user of the account SYS. */
const OPERATOR = "operator";

/**
 * Writes the files with which nats-servers admit the platform's services, each with its own permissions. Existing keys are kept: one whose file
 * was deleted is created again.
 * @throws RepriseError `config_invalid` for servers that others reach without TLS
 */
export async function writeNatsConfig(options: NatsConfigOptions): Promise<WrittenNatsConfig> {
  const { shards, servers, tls, syncInterval } = options;
  if (!tls) assertLocal(servers);
  const dir = resolve(options.dir);
  const keysDir = join(dir, KEYS_DIR);
  await ensurePrivateDir(dir);

  const keyFiles = mapUsers((user) => join(keysDir, `${user}.nk`));
  const keys = new Map<BrokerUser, string>();
  for (const user of BROKER_USERS) keys.set(user, await keepKey(keyFiles[user]));
  const logins = mapUsers((user) => ({ nkey: keys.get(user) ?? "" }));
  const operatorKey = await keepKey(join(keysDir, `${OPERATOR}.nk`));
  const routePassword = await openSecretFile(join(keysDir, "route.secret"), () =>
    randomBytes(32).toString("base64url"),
  );

  await replaceSecretFile(
    join(dir, ACCOUNTS_FILE),
    encodeAccounts(accountsOf(logins, { shards }), operatorKey),
  );
  const serverFiles: string[] = [];
  for (const server of servers) {
    const path = join(dir, `${server.name}.conf`);
    await replaceSecretFile(path, encodeServer(server, { servers, tls, syncInterval, routePassword }));
    serverFiles.push(path);
  }
  return { serverFiles, keyFiles };
}

function assertLocal(servers: readonly ConfiguredServer[]): void {
  const remote = servers.find(({ host }) => !(isIP(host) === 4 && host.startsWith("127.")));
  if (remote)
    throw new RepriseError(
      "config_invalid",
      `${remote.host} is reached over a network, where prompts and answers need TLS: name the servers' certificates.`,
    );
}

/** @returns the public part */
async function keepKey(path: string): Promise<string> {
  return toUserKey(await openSecretFile(path, () => createUserKey().seed)).publicKey;
}
