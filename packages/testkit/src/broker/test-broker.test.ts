import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect } from "@nats-io/transport-node";
import { describe, expect, test } from "vitest";
import { findBrokerImage } from "../broker-image.ts";
import { startStoredBroker, startTestBroker } from "./start-test-broker.ts";

const encode = (value: unknown) => JSON.stringify(value);

/** The JetStream API as it is on the wire, so that the testkit needs no JetStream client. */
async function ask(url: string, subject: string, payload: unknown): Promise<Record<string, unknown>> {
  const nc = await connect({ servers: url });
  const answer = (await nc.request(subject, encode(payload), PATIENTLY)).json<Record<string, unknown>>();
  await nc.close();
  return answer;
}

/** The client itself waits for a second, in which a busy machine may not make a stream. */
const PATIENTLY = { timeout: 120_000 };

const STREAM = { name: "T", subjects: ["t.>"], storage: "file" };

describe("the test broker", () => {
  test("is a container where there is an image for it, else a binary", async () => {
    await using broker = await startTestBroker();
    expect(broker.kind).toBe((await findBrokerImage()) === undefined ? "binary" : "container");
  });

  test("keeps its store and its address over a restart", async () => {
    await using broker = await startTestBroker();
    const { url, pid } = broker;
    await ask(url, "$JS.API.STREAM.CREATE.T", STREAM);
    expect(await ask(url, "t.1", { n: 1 })).toEqual({ stream: "T", seq: 1 });
    await broker.restart();
    expect(await ask(url, "t.1", { n: 2 })).toEqual({ stream: "T", seq: 2 });
    expect(broker.pid).not.toBe(pid);
  });

  test("loses nothing that it has acknowledged when it crashes", async () => {
    await using broker = await startTestBroker();
    await ask(broker.url, "$JS.API.STREAM.CREATE.T", STREAM);
    await ask(broker.url, "t.1", {});
    await broker.kill("SIGKILL");
    await broker.restart();
    expect(await ask(broker.url, "t.1", {})).toEqual({ stream: "T", seq: 2 });
  });

  test("does not answer while it is paused, and continues afterwards", async () => {
    await using broker = await startTestBroker();
    const nc = await connect({ servers: broker.url });
    await broker.kill("SIGSTOP");
    await expect(nc.request("$JS.API.INFO", "", { timeout: 200 })).rejects.toThrow("timeout");
    await broker.kill("SIGCONT");
    expect((await nc.request("$JS.API.INFO", "", PATIENTLY)).json()).toMatchObject({ streams: 0 });
    await nc.close();
  });

  test("is gone, with its files, when it is disposed of while it is stopped", async () => {
    const broker = await startTestBroker();
    await broker.stop();
    await broker[Symbol.asyncDispose]();
    const [error] = await once(connectTcp(broker.port, "127.0.0.1"), "error");
    expect(error).toMatchObject({ code: "ECONNREFUSED" });
  });

  test("forgets what it stored after a snapshot when its store is rolled back", async () => {
    await using broker = await startStoredBroker();
    await ask(broker.url, "$JS.API.STREAM.CREATE.T", STREAM);
    await ask(broker.url, "t.1", { n: 1 });
    await broker.snapshotStore();
    await ask(broker.url, "t.1", { n: 2 });
    await broker.restoreStore();
    expect(await ask(broker.url, "t.1", { n: 3 })).toEqual({ stream: "T", seq: 2 });
  });
});
