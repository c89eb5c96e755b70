import { startRedis } from "@reprise/testkit";
import { createClient } from "redis";

export interface BenchRedis extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** A Redis of the target's own, that keeps nothing on disk. @throws RepriseError `config_invalid` when it does not start */
export async function startBenchRedis(binary: string): Promise<BenchRedis> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis({ binary }));
  const client = createClient({ url: redis.url });
  await client.connect();
  const pid = Number(/^process_id:(\d+)/m.exec(await client.info("server"))?.[1]);
  client.destroy();
  const running = stack.move();
  return { url: redis.url, pid, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
