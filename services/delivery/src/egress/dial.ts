import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";

/** Ports by which a host outside is reached. */
export interface EgressPorts {
  /** All addresses of a name. Rejects where there is none. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /**
   * Connects to an address and speaks TLS for the name. The name is not looked up again: what was judged is what is dialled.
   * @throws an error where there is no connection, or its certificate is not the name's
   */
  readonly dial: (
    to: { address: string; port: number; host: string },
    signal: AbortSignal,
  ) => Promise<Duplex>;
}

export const EGRESS_PORTS: EgressPorts = {
  async resolve(host) {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  },
  dial: ({ address, port, host }, signal) => dialTls({ address, port, host }, signal),
};

/** @param ca in place of the authorities that Node knows */
export async function dialTls(
  { address, port, host }: { address: string; port: number; host: string },
  signal: AbortSignal,
  ca?: string,
): Promise<Duplex> {
  const socket = connect({
    host: address,
    port,
    servername: host,
    ALPNProtocols: ["http/1.1"],
    ...(ca && { ca }),
  });
  try {
    await once(socket, "secureConnect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
