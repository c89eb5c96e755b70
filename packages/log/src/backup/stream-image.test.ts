import { connect } from "@nats-io/transport-node";
import { startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { sendParts } from "./stream-image.ts";

async function* copy(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("one");
  yield Buffer.from("two");
}

test("a server that takes a copy in, and is known to the client's server only later, gets every part", async () => {
  await using server = await startTestBroker();
  const [client, taker] = await Promise.all([1, 2].map(() => connect({ servers: server.url })));
  const sent = sendParts(client!, { stream: "S", to: "late", parts: copy() });
  // The answer to the first part: no responders.
  await expect.poll(() => client!.stats().inMsgs).toBeGreaterThan(0);
  const taken: string[] = [];
  const state = { last_seq: 2 };
  taker!.subscribe("late", {
    callback: (_, msg) => {
      taken.push(msg.string());
      msg.respond(msg.data.length === 0 ? JSON.stringify({ state }) : "");
    },
  });
  expect(await sent).toEqual({ state });
  expect(taken).toEqual(["one", "two", ""]);
  await Promise.all([client!.close(), taker!.close()]);
});
