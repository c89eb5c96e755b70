import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6, SocketAddress } from "node:net";
import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyRequest {
    /** The client's address: from a trusted proxy the one that it forwards, otherwise the connection's. Undefined once the connection is closed. */
    readonly clientAddress: string | undefined;
  }
}

/**
 * The proxies whose `X-Forwarded-For` counts. Each proxy appends the address that it was called from, so the header is read from its end: the first address
 * that is not a trusted proxy is the client's. Addresses before it are the client's own claim.
 */
export class TrustedProxies {
  readonly #networks = new BlockList();

  /** @param networks IP addresses and CIDR ranges, as `REPRISE_TRUSTED_PROXIES` has them */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = "", prefix] = network.split("/");
      const family = isIPv6(address) ? "ipv6" : "ipv4";
      if (prefix === undefined) this.#networks.addAddress(address, family);
      else this.#networks.addSubnet(address, Number(prefix), family);
    }
  }

  /** Returns true if a request comes from one of them. */
  haveSent({ socket: { remoteAddress } }: IncomingMessage): boolean {
    return remoteAddress !== undefined && this.#has(parseAddress(remoteAddress) ?? remoteAddress);
  }

  /**
   * @param connected the address that the connection has
   * @param forwarded the value of `X-Forwarded-For`. At an entry that is no address the walk ends: the proxy before it counts as the client
   */
  clientOf(connected: string, forwarded: string | undefined): string {
    let client = parseAddress(connected) ?? connected;
    if (forwarded === undefined) return client;
    for (const entry of forwarded.split(",").toReversed()) {
      if (!this.#has(client)) return client;
      const before = parseAddress(entry.trim());
      if (before === undefined) return client;
      client = before;
    }
    return client;
  }

  #has(address: string): boolean {
    return this.#networks.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }
}

/** Adds `clientAddress` to requests. */
export function addClientAddress(app: FastifyInstance, proxies: TrustedProxies): void {
  app.decorateRequest("clientAddress", {
    getter() {
      const { remoteAddress } = this.raw.socket;
      if (remoteAddress === undefined) return undefined;
      return proxies.clientOf(remoteAddress, this.headers["x-forwarded-for"]?.toString());
    },
  });
}

/** An IPv4 address followed by a port, or any address in brackets: some proxies write them so. */
const WITH_PORT = /^(?:([0-9.]+)|\[([0-9A-Fa-f:.]+)\])(?::[0-9]{1,5})?$/;
const MAPPED = "::ffff:";

/** @returns the address in its one spelling, without port or zone; an IPv4 address that is written as IPv6 as IPv4; undefined for no address */
function parseAddress(text: string): string | undefined {
  const [, v4, v6] = WITH_PORT.exec(text) ?? [];
  const plain = v4 ?? v6 ?? text;
  const version = isIP(plain);
  if (version === 0) return undefined;
  if (version === 4) return plain;
  const { address } = new SocketAddress({ address: plain, family: "ipv6" });
  const mapped = address.startsWith(MAPPED) ? address.slice(MAPPED.length) : "";
  return isIP(mapped) === 4 ? mapped : address;
}
