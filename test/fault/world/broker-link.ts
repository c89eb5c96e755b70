import { type AckLedger, type ConnectionFaults, startTcpProxy } from "@reprise/testkit";
import type { Disturbance } from "./disturbance.ts";

/** One service's way to the broker: a proxy for each nats-server, whose every acknowledgement the world's ledger keeps. */
export interface BrokerLink extends AsyncDisposable {
  /** The addresses that the service gets instead of the broker's own. */
  readonly url: string;
  /** Of every connection, those to come included. `{}` heals it. */
  setFaults(faults: ConnectionFaults): void;
  /** Cuts every open connection, and returns how many. */
  cutNow(): number;
  /** Cuts every connection and lifts all faults. Lost bytes leave half a message, which no connection survives. */
  repair(): void;
}

export interface BrokerLinkOptions {
  /** The service. */
  readonly name: string;
  /** The broker's own addresses, separated by commas. */
  readonly brokerUrl: string;
  readonly acks: AckLedger;
  /** Called for every fault. */
  readonly disturbance: Disturbance;
}

export async function startBrokerLink(options: BrokerLinkOptions): Promise<BrokerLink> {
  const { name, brokerUrl, acks, disturbance } = options;
  await using stack = new AsyncDisposableStack();
  const proxies = await Promise.all(
    brokerUrl.split(",").map(async (address) => {
      const url = new URL(address);
      const target = { host: url.hostname, port: Number(url.port) };
      const proxy = stack.use(await startTcpProxy({ target, tap: () => acks.tap(name) }));
      url.host = `${proxy.host}:${proxy.port}`;
      return { proxy, url: url.href.replace(/\/$/, "") };
    }),
  );
  let isFaulty = false;
  const cutNow = (): number => {
    disturbance.strike();
    return proxies.reduce((sum, { proxy }) => sum + proxy.cutNow(), 0);
  };
  const setFaults = (faults: ConnectionFaults): void => {
    disturbance.strike();
    isFaulty = Object.keys(faults).length > 0;
    for (const { proxy } of proxies) proxy.setFaults(faults);
  };
  const running = stack.move();
  return {
    url: proxies.map(({ url }) => url).join(","),
    setFaults,
    cutNow,
    repair() {
      if (!isFaulty) return;
      cutNow();
      setFaults({});
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
