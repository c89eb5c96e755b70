import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { resetSocket } from "@reprise/runtime";
import { type ConnectionTap, type PumpFaults, startPump } from "./tcp-pump.ts";

/** `toServer` is what the one that connected sends, `toClient` what it gets. */
export interface ConnectionFaults {
  toServer?: PumpFaults;
  toClient?: PumpFaults;
}

export interface ProxyConnection {
  /** 0 for the proxy's first connection, 1 for the next one. */
  readonly index: number;
  readonly bytesToServer: number;
  readonly bytesToClient: number;
  /** Replaces all faults of this connection, in force from the next byte on. `{}` heals it. */
  setFaults(faults: ConnectionFaults): void;
  /** Resets both ends at once (RST), as a crash or a firewall does. What was in flight is gone. */
  cut(): void;
}

export interface ProxyTarget {
  host?: string;
  port: number;
}

export interface TcpProxyOptions {
  /** Where connections go: the same for all, or chosen by their index. */
  target: ProxyTarget | ((index: number) => ProxyTarget);
  /** Initial faults of connections: the same for all, or chosen by their index. */
  faults?: ConnectionFaults | ((index: number) => ConnectionFaults);
  /** Source of jitter: at least 0, less than 1. Default `Math.random`; a seeded one repeats the same delays. */
  random?: () => number;
  /** Called for each connection: what is to see its bytes as they come in. Default: nothing. */
  tap?: () => ConnectionTap;
}

export interface TcpProxy extends AsyncDisposable {
  readonly host: "127.0.0.1";
  readonly port: number;
  /** Those that are open now, oldest first. */
  readonly connections: readonly ProxyConnection[];
  /** Resolves with the next connection that is made; call it before the connection is made. */
  nextConnection(): Promise<ProxyConnection>;
  /** Replaces the faults of every open connection and of all that follow; chosen by index, they are for those that follow only. */
  setFaults(faults: ConnectionFaults | ((index: number) => ConnectionFaults)): void;
  /** Cuts every open connection, and returns how many. */
  cutNow(): number;
  /** True if this proxy, and neither of its peers, has ended the last connection that was made to it from this port. */
  hasCut(clientPort: number): boolean;
}

/** A TCP proxy on 127.0.0.1 that breaks what goes through it on command: between a client and delivery, or a service and NATS. */
export async function startTcpProxy({
  target,
  faults: initial = {},
  random = Math.random,
  tap,
}: TcpProxyOptions): Promise<TcpProxy> {
  const open = new Set<ProxyConnection>();
  const cutPorts = new Set<number>();
  let faultsOf = typeof initial === "function" ? initial : () => initial;
  let made = 0;
  let next = Promise.withResolvers<ProxyConnection>();

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const { host = "127.0.0.1", port } = typeof target === "function" ? target(made) : target;
    const upstream = connect({
      host,
      port,
      allowHalfOpen: true,
      noDelay: true,
    });
    const { remotePort: clientPort = 0 } = client;
    cutPorts.delete(clientPort);
    const connection = joinSockets({
      client,
      upstream,
      index: made,
      faults: faultsOf(made),
      random,
      tap: tap?.(),
      onCut: () => cutPorts.add(clientPort),
    });
    made++;
    open.add(connection);
    let closed = 0;
    const onClose = (): void => {
      if (++closed === 2) open.delete(connection);
    };
    client.on("close", onClose);
    upstream.on("close", onClose);
    next.resolve(connection);
    next = Promise.withResolvers();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const cutNow = (): number => {
    const { size } = open;
    for (const connection of open) connection.cut();
    return size;
  };
  return {
    host: "127.0.0.1",
    port,
    get connections() {
      return [...open];
    },
    nextConnection: () => next.promise,
    setFaults(faults) {
      faultsOf = typeof faults === "function" ? faults : () => faults;
      if (typeof faults === "function") return;
      for (const connection of open) connection.setFaults(faults);
    },
    cutNow,
    hasCut: (clientPort) => cutPorts.has(clientPort),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cutNow();
      await closed;
    },
  };
}

interface Joint {
  client: Socket;
  upstream: Socket;
  index: number;
  faults: ConnectionFaults;
  random: () => number;
  tap: ConnectionTap | undefined;
  /** The proxy itself ends the connection. */
  onCut: () => void;
}

function joinSockets({
  client,
  upstream,
  index,
  faults: initial,
  random,
  tap,
  onCut,
}: Joint): ProxyConnection {
  let faults = initial;
  const reset = (): void => {
    resetSocket(client);
    resetSocket(upstream);
  };
  const cut = (): void => {
    onCut();
    reset();
  };
  const shared = { cut, random };
  const toServer = startPump({
    source: client,
    sink: upstream,
    faults: faults.toServer ?? {},
    onBytes: tap?.toServer,
    ...shared,
  });
  const toClient = startPump({
    source: upstream,
    sink: client,
    faults: faults.toClient ?? {},
    onBytes: tap?.toClient,
    ...shared,
  });
  // A reset is passed on, unless the way to the other end is stalled: then that end is not to hear of it.
  client.on("error", () => void (faults.toServer?.stalled || reset()));
  upstream.on("error", () => void (faults.toClient?.stalled || reset()));

  return {
    index,
    get bytesToServer() {
      return toServer.forwardedBytes;
    },
    get bytesToClient() {
      return toClient.forwardedBytes;
    },
    setFaults(next) {
      faults = next;
      toServer.setFaults(next.toServer ?? {});
      toClient.setFaults(next.toClient ?? {});
    },
    cut,
  };
}
