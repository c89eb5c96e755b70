import { connect } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { watchCleared } from "./cleared-watch.ts";
import { startTestBroker } from "../broker/start-test-broker.ts";

test("reports an event that was shown above the cleared watermark, cleared later by any process or not", async () => {
  await using broker = await startTestBroker();
  const [connection, moderation] = await Promise.all([
    connect({ servers: broker.url }),
    connect({ servers: broker.url }),
  ]);
  const clear = async (generation: string, cleared: number) => {
    moderation.publish(
      `live.mod.0.acme.${generation}`,
      JSON.stringify({ judged: cleared, cleared, decided: 0 }),
    );
    await moderation.flush();
  };
  try {
    await using watch = await watchCleared(connection);
    await clear("one", 5);
    await clear("one", 4);
    watch.shown("one", 5);
    watch.shown("one", 6);
    watch.shown("other", 1);
    expect(await watch.early()).toEqual([
      { generation: "one", seq: 6, cleared: 5 },
      { generation: "other", seq: 1, cleared: 0 },
    ]);
    await clear("one", 6);
    watch.shown("one", 6);
    expect(await watch.early()).toHaveLength(2);
  } finally {
    await Promise.all([connection.close(), moderation.close()]);
  }
});
