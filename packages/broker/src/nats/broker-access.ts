import { readFileSync } from "node:fs";
import { access as assertAccess, constants } from "node:fs/promises";
import { isIP } from "node:net";
import {
  checkServerIdentity,
  type ConnectionOptions as NodeTlsOptions,
  type PeerCertificate,
} from "node:tls";
import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/transport-node";
import { RepriseError } from "@reprise/protocol";

/**
 * Credentials of a process for the broker, and the certificates by which it verifies the broker, in addition to the URLs. Files are read again for
 * every connection, so they can be rotated under a running process.
 */
export interface BrokerAccess {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  /** A user's JWT and seed, as `nsc generate creds` writes them. */
  readonly credsFile?: string | undefined;
  /** A user's seed, `SU…`. */
  readonly nkeyFile?: string | undefined;
  /** Authorities that the broker's certificate is trusted by, as PEM. Default: those of Node. Asks for TLS. */
  readonly caFile?: string | undefined;
  /** The client's certificate and its key, as PEM. Ask for TLS. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** TLS from the first byte, as nats-server's `handshake_first` has it. Asks for TLS. */
  readonly tlsFirst?: boolean | undefined;
}

export interface BrokerAddress {
  /** NATS URLs, comma-separated; `tls://` asks for TLS. Each may hold `user:password@` or `token@`, the same in all of them. */
  readonly url: string;
  readonly access?: BrokerAccess | undefined;
}

/** The part of a connection's options with the broker's address and credentials. */
export type AccessOptions = Pick<ConnectionOptions, "servers" | "authenticator" | "tls">;

/**
 * The NATS client ignores credentials in URLs, and what `tls://` asks for: both are taken out of the URLs here. TLS that is asked for,
 * by one URL or by a setting, is TLS to every server or a refusal.
 * @throws RepriseError `config_invalid` for more than one way to identify itself, half of one, or a file that can't be read
 */
export async function toAccessOptions({ url, access = {} }: BrokerAddress): Promise<AccessOptions> {
  const urls = url.split(",").map(parseServer);
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port || DEFAULT_PORT}`);
  const ways = [...waysInUrls(urls), ...waysIn(access)];
  if (ways.length > 1) throw invalid("The broker is given more than one kind of credentials; keep one.");
  if ((access.certFile === undefined) !== (access.keyFile === undefined))
    throw invalid("A client certificate for the broker needs its key, and the key its certificate.");
  if (access.password !== undefined && access.user === undefined)
    throw invalid("A password for the broker needs a user.");
  const { credsFile, nkeyFile, caFile, certFile, keyFile, tlsFirst = false } = access;
  await Promise.all([credsFile, nkeyFile, caFile, certFile, keyFile].map(assertReadable));
  const asksForTls =
    tlsFirst ||
    urls.some(({ protocol }) => protocol === "tls:") ||
    caFile !== undefined ||
    certFile !== undefined;
  return {
    servers,
    ...(ways[0] && { authenticator: ways[0] }),
    ...(asksForTls && { tls: toTlsOptions(access, urls) }),
  };
}

/** Options that the client passes to Node's TLS, which takes more than the client's own type names. */
type TlsOptions = NonNullable<ConnectionOptions["tls"]> & Pick<NodeTlsOptions, "checkServerIdentity">;

function toTlsOptions(
  { caFile, certFile, keyFile, tlsFirst = false }: BrokerAccess,
  urls: readonly URL[],
): TlsOptions {
  return {
    ...(caFile !== undefined && { caFile }),
    ...(certFile !== undefined && keyFile !== undefined && { certFile, keyFile }),
    handshakeFirst: tlsFirst,
    checkServerIdentity: createIdentityCheck(urls.map(({ hostname }) => hostname)),
  };
}

/** The hosts and ports of URLs, for messages: never a credential. */
export function hostsOf(url: string): string {
  return url.replaceAll(/(?<=^|,)\s*(?:[a-z]+:\/\/)?[^,]*@/g, "").replaceAll(/[a-z]+:\/\//g, "");
}

const DEFAULT_PORT = 4_222;

/** @throws RepriseError `config_invalid`, which does not repeat what may hold a password */
function parseServer(text: string): URL {
  const trimmed = text.trim();
  const parsed = URL.parse(trimmed.includes("://") ? trimmed : `nats://${trimmed}`);
  if (!parsed || parsed.hostname === "")
    throw invalid("A broker's URL must be nats:// or tls://, a host and perhaps a port.");
  return parsed;
}

/** One for all URLs, since the client does not say which server it asks for credentials. */
function waysInUrls(urls: readonly URL[]): Authenticator[] {
  const known = new Map<string, Authenticator>();
  for (const { username, password } of urls) {
    if (username === "") continue;
    const [user, pass] = [decodeCredential(username), decodeCredential(password)];
    const way = password === "" ? tokenAuthenticator(user) : usernamePasswordAuthenticator(user, pass);
    known.set(`${username}:${password}`, way);
  }
  return [...known.values()];
}

/** @throws RepriseError `config_invalid`, which does not repeat it */
function decodeCredential(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid("The credentials in the broker's URL are not percent-encoded UTF-8: write a % as %25.");
  }
}

function waysIn({ user, password, token, credsFile, nkeyFile }: BrokerAccess): Authenticator[] {
  return [
    ...(user === undefined ? [] : [usernamePasswordAuthenticator(user, password)]),
    ...(token === undefined ? [] : [tokenAuthenticator(token)]),
    ...(credsFile === undefined ? [] : [fromFile(credsFile, credsAuthenticator)]),
    ...(nkeyFile === undefined ? [] : [fromFile(nkeyFile, (content) => nkeyAuthenticator(toSeed(content)))]),
  ];
}

/**
 * The client closes a connection for good when its authenticator throws, and a file that is being rotated may be empty for a moment. So the last
 * usable content replaces an unusable one.
 */
function fromFile(path: string, toAuthenticator: (content: Uint8Array) => Authenticator): Authenticator {
  let last: Authenticator | undefined;
  return (nonce) => {
    try {
      const next = toAuthenticator(readFileSync(path));
      const credentials = next(nonce);
      last = next;
      return credentials;
    } catch (error) {
      if (!last) throw error;
      return last(nonce);
    }
  };
}

function toSeed(content: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(content).trim());
}

/**
 * The client asks Node to check a server at an IP address as if it were `localhost`. There any of the addresses that are configured
 * will do: the client does not say which of them it has dialled.
 */
function createIdentityCheck(hosts: readonly string[]) {
  const addresses = hosts.map((host) => host.replace(/^\[(.*)\]$/, "$1")).filter((host) => isIP(host) !== 0);
  return (host: string, certificate: PeerCertificate): Error | undefined => {
    if (hosts.includes(host) || addresses.length === 0) return checkServerIdentity(host, certificate);
    const problems = addresses.map((address) => checkServerIdentity(address, certificate));
    return problems.some((problem) => problem === undefined) ? undefined : problems[0];
  };
}

async function assertReadable(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  await assertAccess(path, constants.R_OK).catch((cause: Error) => {
    throw new RepriseError("config_invalid", `${path} can't be read: ${cause.message}`, {
      param: path,
      cause,
    });
  });
}

function invalid(message: string): RepriseError {
  return new RepriseError("config_invalid", message, { param: "REPRISE_NATS_URL" });
}
