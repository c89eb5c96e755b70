import type { StreamConfig, StreamState } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { putImage, sendParts } from "./stream-image.ts";

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

test("a cluster that lacks servers for a moment is asked again", async () => {
  // What is asked of JetStream comes to the test.
  const login = { user: "operator", password: "operator" };
  const mappings = { "$JS.API.STREAM.RESTORE.S": "restore" };
  const accounts = { MAPPED: { users: [login], mappings } };
  await using server = await startTestBroker({ extraConfig: { accounts } });
  const client = await connect({ servers: server.url, user: login.user, pass: login.password });
  const lacking = { error: { code: 400, err_code: 10_005, description: "no suitable peers for placement" } };
  const answers: object[] = [lacking, lacking, { deliver_subject: "taker" }];
  client.subscribe("restore", {
    callback: (_, msg) => void msg.respond(JSON.stringify(answers.shift())),
  });
  const state = { last_seq: 2 } as StreamState;
  client.subscribe("taker", {
    callback: (_, msg) => void msg.respond(msg.data.length === 0 ? JSON.stringify({ state }) : ""),
  });
  const config = { name: "S" } as StreamConfig;
  expect(await putImage(client, { config, state }, copy())).toEqual(state);
  expect(answers).toEqual([]);
  await client.close();
});
