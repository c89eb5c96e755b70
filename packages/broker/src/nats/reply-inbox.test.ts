import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { type NoReply, ReplyInbox } from "./reply-inbox.ts";
import { openWorld, openWorldBehindProxy } from "@reprise/stream/testing";

const NEVER_MS = 600_000;

function openInbox(connection: NatsConnection) {
  const errors: unknown[] = [];
  const inbox = new ReplyInbox(connection, (error) => errors.push(error));
  /** One request, one reply. */
  const ask = (subject: string, timeoutMs = NEVER_MS) =>
    new Promise<Msg | NoReply>((resolve) => {
      inbox.request(subject, "ping", { timeoutMs, handler: (reply) => (resolve(reply), false) });
    });
  return { inbox, errors, ask, [Symbol.dispose]: () => inbox.close() };
}

/** Answers `echo` this number of times with a number; subscribes to `mute` without answering. */
async function serve(connection: NatsConnection, times = 1): Promise<void> {
  connection.subscribe("mute", { callback: () => {} });
  connection.subscribe("echo", {
    callback(_, msg) {
      for (let i = 0; i < times; i++) msg.respond(`${i}`);
    },
  });
  await connection.flush();
}

test("a request gets its own reply when replies come in any order", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  world.broker.main.subscribe("double", { callback: (_, msg) => void msg.respond(msg.reply) });
  await world.broker.main.flush();
  const replies = await Promise.all(Array.from({ length: 100 }, () => opened.ask("double")));
  const texts = replies.map((reply) => (reply as Msg).string() === (reply as Msg).subject);
  expect(texts).toEqual(Array(100).fill(true));
});

test("a clock that is set forward ends no wait", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  await serve(world.broker.main);
  const first = opened.ask("mute");
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 2 * NEVER_MS);
  onTestFinished(() => clock.mockRestore());
  expect(await opened.ask("mute", 1)).toBe("timeout");
  opened.inbox.close();
  expect(await first).toBe("disconnected");
});

test("a process that has seen one request's reply subject cannot answer another request", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  const { main } = world.broker;
  let inbox = "";
  main.subscribe("seen", {
    callback(_, { reply = "" }) {
      inbox = reply.slice(0, reply.lastIndexOf(".") + 1);
      main.publish(reply);
    },
  });
  main.subscribe("unseen", {
    callback(_, msg) {
      for (let token = 0; token < 100; token++) main.publish(`${inbox}${token.toString(36)}`, "forged");
      msg.respond("real");
    },
  });
  await main.flush();
  await opened.ask("seen");
  const reply = await opened.ask("unseen");
  expect((reply as Msg).string()).toBe("real");
});

test("a request hears replies until its handler has enough, and none after that", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  await serve(world.broker.main, 10);
  const heard: string[] = [];
  const enough = Promise.withResolvers<void>();
  opened.inbox.request("echo", "", {
    timeoutMs: NEVER_MS,
    handler(reply) {
      heard.push((reply as Msg).string());
      if (heard.length === 3) enough.resolve();
      return heard.length < 3;
    },
  });
  await enough.promise;
  await opened.ask("echo");
  expect(heard).toEqual(["0", "1", "2"]);
});

test("a request without responders fails at once", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  expect(await opened.ask("nobody")).toBe("no_responders");
});

test("a request without a reply is given up after its time", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  await serve(world.broker.main);
  expect(await opened.ask("mute", 50)).toBe("timeout");
});

test("a request in flight is given up as soon as the connection is lost", async () => {
  await using world = await openWorldBehindProxy();
  using opened = openInbox(world.broker.reads);
  await serve(world.broker.main);
  const asking = opened.ask("mute");
  await world.broker.reads.flush();
  world.proxy.cutNow();
  expect(await asking).toBe("disconnected");
});

test("while the connection is down a request is refused at once, and afterwards it is sent again", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  const statuses = world.broker.reads.status();
  await world.server.stop();
  expect(await opened.ask("echo")).toBe("disconnected");
  expect(opened.inbox.connected).toBe(false);
  await world.server.restart();
  for await (const { type } of statuses) if (type === "reconnect") break;
  await serve(world.broker.reads);
  expect(await opened.ask("echo")).toMatchObject({ sid: expect.any(Number) });
});

test("a handler that throws is reported, and the connection continues reading", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  await serve(world.broker.main);
  const defect = new Error("a defect in a handler");
  const thrown = Promise.withResolvers<void>();
  opened.inbox.request("echo", "", {
    timeoutMs: NEVER_MS,
    handler() {
      thrown.resolve();
      throw defect;
    },
  });
  await thrown.promise;
  expect(await opened.ask("echo")).not.toBe("timeout");
  expect(opened.errors).toEqual([defect]);
});

test("closing gives up what is in flight", async () => {
  await using world = await openWorld();
  using opened = openInbox(world.broker.reads);
  await serve(world.broker.main);
  const asking = opened.ask("mute");
  opened.inbox.close();
  expect(await asking).toBe("disconnected");
  expect(await opened.ask("echo")).toBe("disconnected");
});
