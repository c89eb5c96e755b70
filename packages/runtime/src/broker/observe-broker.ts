import { type Broker, watchConnection } from "@reprise/broker";
import type { Metrics } from "../http/metrics.ts";

const RTT_EVERY_MS = 10_000;

/** Measures the connections of a service to the broker until it is disposed of. Each service of a process has series of its own. */
export function observeBroker(
  broker: Pick<Broker, "main" | "reads" | "bulk">,
  { metrics, service, rttEveryMs = RTT_EVERY_MS }: { metrics: Metrics; service: string; rttEveryMs?: number },
): Disposable {
  const reconnects = metrics.counter("reprise_broker_reconnects_total");
  const connections = (["main", "reads", "bulk"] as const).map((connection) => {
    const labels = { service, connection };
    const state = { labels, isUp: true, rttMs: undefined as number | undefined, isAsked: false };
    reconnects.inc(labels, 0);
    watchConnection(broker[connection], {
      onDown() {
        state.isUp = false;
        state.rttMs = undefined;
      },
      onUp() {
        state.isUp = true;
        // The answer to an earlier ping may never come.
        state.isAsked = false;
        reconnects.inc(labels);
      },
    });
    const measure = async () => {
      if (!state.isUp || state.isAsked || broker[connection].isClosed()) return;
      state.isAsked = true;
      try {
        state.rttMs = await broker[connection].rtt();
      } catch {
        state.rttMs = undefined;
      }
      state.isAsked = false;
    };
    return { state, measure };
  });
  const measureAll = () => void Promise.all(connections.map(({ measure }) => measure()));
  measureAll();
  const timer = setInterval(measureAll, rttEveryMs).unref();
  metrics.observeEach("reprise_broker_connected", () =>
    connections.map(({ state }) => [state.labels, Number(state.isUp)] as const),
  );
  metrics.observeEach("reprise_broker_rtt_seconds", () =>
    connections.flatMap(({ state: { labels, rttMs } }) =>
      rttMs === undefined ? [] : [[labels, rttMs / 1_000] as const],
    ),
  );
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
