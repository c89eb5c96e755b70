import { AUDIT_CALLS, auditCallSubject, logSubject, parseWorkerId, workerSubject } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Broker, flushConnection } from "../nats/connection.ts";
import { createPublish } from "../nats/publisher.ts";
import { inboxOf } from "../nats/reply-inbox.ts";
import { eventually } from "../testing/eventually.ts";
import { LOGINS, startWithUsers } from "../testing/start-with-users.ts";
import { newRef, SHARDS } from "../testing/world.ts";
import { accountsOf } from "./accounts.ts";
import { SERVICE_USERS, type ServiceUser } from "./broker-user.ts";
import { permissionsOf } from "./permissions.ts";

const permissions = (user: ServiceUser) => permissionsOf(user, { shards: SHARDS });
const toAddress = (pattern: string) => pattern.replaceAll("*", "x").replace(">", "x.y");

function matches(pattern: string, subject: string): boolean {
  const [wanted, words] = [pattern.split("."), subject.split(".")];
  const isOpen = wanted.at(-1) === ">";
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  const fits = isOpen ? words.length > fixed.length : words.length === fixed.length;
  return fits && fixed.every((word, i) => word === "*" || word === words[i]);
}

test("what a service publishes is heard once by every service that may listen there, in whichever account", async () => {
  await using server = await startWithUsers();
  const [heard, expected]: [string[], string[]] = [[], []];
  await using stack = new AsyncDisposableStack();
  const brokers = new Map<ServiceUser, Broker>();
  for (const user of SERVICE_USERS) {
    const broker = stack.use(await server.connect(user));
    brokers.set(user, broker);
    for (const pattern of permissions(user).subscribe.allow)
      broker.main.subscribe(pattern, {
        callback: (_, msg) => void heard.push(`${msg.string()} ${msg.subject} ${user}`),
      });
    await flushConnection(broker.main);
  }
  for (const [user, { main }] of brokers)
    for (const subject of permissions(user).publish.allow.map(toAddress)) {
      main.publish(subject, user);
      for (const listener of SERVICE_USERS)
        for (const pattern of permissions(listener).subscribe.allow)
          if (matches(pattern, subject)) expected.push(`${user} ${subject} ${listener}`);
    }
  expect(expected.length).toBeGreaterThan(15);
  await eventually(() => expect(heard.toSorted()).toEqual(expected.toSorted()));
  for (const { main } of brokers.values()) await flushConnection(main);
  expect(heard).toHaveLength(expected.length);
});

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

test.each(SERVICE_USERS)("%s is told at once that no stream takes what it publishes", async (user) => {
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
