import { AUDIT_CALLS, auditCallSubject, logSubject, parseWorkerId, workerSubject } from "@reprise/protocol";
import { expect, test } from "vitest";
import { flushConnection } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { LOGINS, startWithUsers, newRef, SHARDS } from "@reprise/stream/testing";
import { matches } from "../testing/subject-matches.ts";
import { accountsOf } from "./accounts.ts";
import { SERVICE_USERS } from "./broker-user.ts";

const toAddress = (pattern: string) => pattern.replaceAll("*", "x").replace(">", "x.y");

test.each([
  ...AUDIT_CALLS.map((call) => ["delivery", auditCallSubject(call), "audit-log"] as const),
  ["audit-log", workerSubject(parseWorkerId("worker-1")), "inference-worker"] as const,
  ["inference-worker", workerSubject(parseWorkerId("worker-1")), "inference-worker"] as const,
])(
  "%s asks at %s and is answered by %s; without one it is told so at once",
  async (asker, subject, answerer) => {
    await using server = await startWithUsers();
    await using asking = await server.connect(asker);
    await using answering = await server.connect(answerer);
    const inbox = inboxOf(asking.main);
    expect(await inbox.ask(subject, "?", 60_000)).toBe("no_responders");
    answering.main.subscribe(subject, { callback: (_, msg) => void msg.respond("!") });
    await flushConnection(answering.main);
    const answer = await inbox.ask(subject, "?", 60_000);
    expect(typeof answer === "string" ? answer : answer.string()).toBe("!");
  },
);

/** Those that append to logs. */
const WRITERS = SERVICE_USERS.filter((user) => user !== "analytics");

test.each(WRITERS)("%s is told at once that no stream takes what it publishes", async (user) => {
  await using server = await startWithUsers();
  await using service = await server.connect(user);
  const publish = createPublish(inboxOf(service.main));
  expect(await publish(logSubject(newRef()), new Uint8Array(), { timeoutMs: 60_000 })).toMatchObject({
    kind: "unavailable",
    reason: "no_responders",
  });
});

test("an account has no subject for publishing twice: what is published is stored once", () => {
  for (const { imports } of Object.values(accountsOf(LOGINS, { shards: SHARDS }))) {
    const subjects = imports.flatMap(({ service }) => (service ? [service.subject] : []));
    const twice = subjects.filter((one, i) =>
      subjects.some((other, j) => i !== j && matches(other, toAddress(one))),
    );
    expect(twice).toEqual([]);
  }
});
