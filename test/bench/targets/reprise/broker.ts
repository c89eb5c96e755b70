import { createTempDir } from "@reprise/testkit";
import { openBroker } from "@reprise/log";
import { type NatsServer, startNatsServer } from "@reprise/service";

/** As `REPRISE_SHARDS` has it by default. */
export const SHARDS = 4;

export interface BenchBroker extends AsyncDisposable {
  readonly server: NatsServer;
}

/** A nats-server with the platform's streams, its store in a temporary folder. */
export async function startBenchBroker(binary: string): Promise<BenchBroker> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("bench-nats"));
  const server = stack.use(await startNatsServer({ binary, storeDir: dir.path }));
  const topology = { shards: SHARDS, replicas: 1, retentionMs: 3_600_000 };
  await (await openBroker({ url: server.url, name: "bench", ...topology })).close();
  const running = stack.move();
  return { server, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
