import { createTempDir } from "@reprise/testkit";
import { type BrokerUser, openBroker } from "@reprise/broker";
import { createPasswordUsers, type NatsServer, startNatsServer } from "@reprise/runtime";

/** As `REPRISE_SHARDS` has it by default. */
export const SHARDS = 4;

export interface BenchBroker extends AsyncDisposable {
  readonly server: NatsServer;
  readonly storeDir: string;
  /** The URL by which a user of the platform gets in. */
  urlFor(user: BrokerUser): string;
}

/** A nats-server with the platform's accounts and streams, as `npm start` has it, its store in a temporary folder. */
export async function startBenchBroker(binary: string): Promise<BenchBroker> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("bench-nats"));
  const { accounts, urlFor: urlAt } = createPasswordUsers({ shards: SHARDS });
  const server = stack.use(await startNatsServer({ binary, storeDir: dir.path, extraConfig: { accounts } }));
  const topology = { shards: SHARDS, replicas: 1, retentionMs: 24 * 3_600_000 };
  const urlFor = (user: BrokerUser) => urlAt(user, server.url);
  await (await openBroker({ url: urlFor("admin"), name: "bench", ...topology })).close();
  const running = stack.move();
  return { server, storeDir: dir.path, urlFor, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
