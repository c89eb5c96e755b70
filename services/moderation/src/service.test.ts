import { connectBroker } from "@reprise/broker";
import {
  decodeVerdict,
  RULES_STREAM,
  type KnownEvent,
  type ModerationRule,
  Transcript,
  verdictSubject,
  asSeq,
} from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { recordSpans } from "@reprise/runtime/telemetry/testing";
import { PATIENCE_MS } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createFakeClassifier, judged } from "./classifiers/testing/fake-classifier.ts";
import { uncovered } from "./domain/coverage.ts";
import { startModeration } from "./service.ts";
import { COMPLETED, delta, STARTED } from "./testing/log-of.ts";
import { openWorld } from "./testing/world.ts";

const SECRET: ModerationRule = { terms: ["secret"], match: "anywhere", name: "words" };

function textOf(events: readonly KnownEvent[]): string {
  const transcript = new Transcript();
  for (const event of events) transcript.apply(event);
  return transcript.text;
}

const decisionsOf = (events: readonly KnownEvent[]) =>
  events.map(({ type }) => type).filter((type) => type.startsWith("moderation."));

test("what matches is withdrawn in the log, and every event is covered by the rules that judged it", async () => {
  await using world = await openWorld();
  await world.startReplica();
  const { ref, append } = await world.create([SECRET]);
  await append(STARTED, delta("a sec"), delta("ret b"), COMPLETED);
  const { events, verdict } = await world.until(
    ref,
    (log, said) => (said?.judged ?? 0) >= 5 && log.length === 6,
  );
  expect([textOf(events), decisionsOf(events)]).toEqual(["a *** b", ["moderation.redacted"]]);
  expect(verdict).toMatchObject({ cleared: 5, finding_count: 1, findings: [{ rule: "words" }] });
  expect(uncovered(verdict!.spans!, asSeq(events.length - 1))).toEqual([]);
});

test("two replicas, and one that comes back, decide each thing once while a worker continues writing", async () => {
  await using world = await openWorld();
  await world.startReplica();
  const second = await world.startReplica();
  const written = await Promise.all(Array.from({ length: 10 }, () => world.create([SECRET])));
  const writing = written.map(async ({ append }) => {
    await append(STARTED);
    for (let i = 0; i < 40; i++) await append(delta("one sec"), delta("ret more "));
    await append(COMPLETED);
  });
  await second.close();
  await world.startReplica();
  await Promise.all(writing);
  for (const { ref } of written) {
    const { events, verdict } = await world.until(
      ref,
      (log, said) =>
        said?.judged === log.length - 1 && log.some(({ type }) => type === "generation.completed"),
    );
    expect(textOf(events)).toBe("one *** more ".repeat(40));
    expect(decisionsOf(events)).toHaveLength(40);
    expect(uncovered(verdict!.spans!, asSeq(events.length - 1))).toEqual([]);
  }
});

test("a halt is followed by an end, though no worker is there", async () => {
  await using world = await openWorld();
  const { ref, append } = await world.create([{ ...SECRET, action: "halt" }]);
  await append(STARTED, delta("a secret"), delta(" more"));
  await world.startReplica();
  const { events } = await world.until(ref, (log) => log.some(({ type }) => type === "generation.completed"));
  expect(events.at(-1)).toMatchObject({ type: "generation.completed", finish_reason: "content_filter" });
  expect(textOf(events)).toBe("a ***");
});

test("what a classifier finds is withdrawn afterwards, and the end waits for it", async () => {
  await using world = await openWorld();
  const [asked, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const classifier = createFakeClassifier({
    name: "guard",
    judge: async () => {
      asked.resolve();
      await slow.promise;
      return judged({ flagged: ["hate"], scores: { hate: 0.9 } });
    },
  });
  await world.startReplica(new Map([["guard", classifier]]));
  const { ref, append } = await world.create([{ classifier: "guard", action: "redact" }], {
    mode: "retract",
  });
  await append(STARTED, delta("nasty words"), COMPLETED);
  await asked.promise;
  const before = await world.until(ref, (_, verdict) => verdict?.judged === 2);
  expect(decisionsOf(before.events)).toEqual([]);
  expect(classifier.subjects).toEqual([{ input: "nasty words", prompt: "hello" }]);
  slow.resolve();
  const { events } = await world.until(ref, (_, verdict) => (verdict?.judged ?? 0) >= 4);
  expect([textOf(events), decisionsOf(events)]).toEqual(["***", ["moderation.redacted"]]);
});

test("a review without an answer is decided by the policy", async () => {
  await using world = await openWorld();
  await world.startReplica();
  const { ref, append } = await world.create([{ ...SECRET, action: "review" }], {
    review: { answer: "redact", after_ms: 1 },
  });
  await append(STARTED, delta("a secret b"), COMPLETED);
  const { events } = await world.until(ref, (log, verdict) => verdict?.cleared === log.length - 1);
  expect([textOf(events), decisionsOf(events)]).toEqual([
    "a *** b",
    ["moderation.review", "moderation.reviewed", "moderation.redacted"],
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "moderation.reviewed", reviewer: "timeout" }),
  );
});

test("a broker that is killed and restarted delays verdicts and loses none", async () => {
  await using world = await openWorld();
  await world.startReplica();
  const { ref, append } = await world.create([SECRET]);
  await append(STARTED, delta("a sec"));
  await world.server.kill("SIGKILL");
  await world.server.restart();
  await append(delta("ret b"), delta(" and secret"), COMPLETED);
  // The connection that logs are read over may be back later than the one that they are written over.
  await expect.poll(() => world.read(ref).catch(() => undefined)).toBeDefined();
  const { events } = await world.until(ref, (log, verdict) => verdict?.cleared === log.length - 1);
  expect([textOf(events), decisionsOf(events)]).toEqual([
    "a *** b and ***",
    Array(2).fill("moderation.redacted"),
  ]);
});

test("close waits for what is being stored", async () => {
  await using world = await openWorld();
  await using own = await connectBroker({ url: world.server.url, name: "moderation" });
  const { ref, append } = await world.create([SECRET]);
  const lost = Promise.withResolvers<void>();
  const saysAll = (payload: unknown) => decodeVerdict(payload as Uint8Array)?.judged === 2;
  let tries = 0;
  // The first verdict on all of it is lost on its way, so the store has to be tried again.
  const main = new Proxy(own.main, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property !== "publish") return value.bind(target);
      const publish: typeof target.publish = (subject, payload, options) => {
        if (subject === verdictSubject(ref) && saysAll(payload) && ++tries === 1) return lost.resolve();
        target.publish(subject, payload, options);
      };
      return publish;
    },
  });
  const logger = createLogger({ service: "moderation", level: "silent" });
  const options = { shards: 1, classifiers: new Map(), logger, metrics: createMetrics() };
  const moderation = await startModeration({ ...options, broker: { ...own, main } });
  await append(STARTED, delta("harmless"));
  await lost.promise;
  await moderation.close();
  expect(await world.log.verdicts.readVerdictFromLeader(ref)).toMatchObject({ verdict: { judged: 2 } });
});

test("no consumer is made while no generation asks for moderation", async () => {
  await using world = await openWorld();
  await world.startReplica();
  const { append } = await world.createUnmoderated();
  await append(STARTED, delta("a secret"), COMPLETED);
  const info = await world.broker.main.request("$JS.API.CONSUMER.NAMES.GENERATIONS_0", "{}", {
    timeout: PATIENCE_MS,
  });
  expect([info.json(), RULES_STREAM]).toMatchObject([{ total: 0 }, "RULES"]);
});

test("a generation's span is in the trace of its create, with decisions as events and no word of what they are about", async () => {
  const tracing = recordSpans();
  await using world = await openWorld();
  const moderation = await world.startReplica(new Map(), tracing);
  const { ref, append } = await world.create([SECRET]);
  await append(STARTED, delta("a sec"), delta("ret b"), COMPLETED);
  await world.until(ref, (log, said) => (said?.judged ?? 0) >= 5 && log.length === 6);
  await moderation.close();
  expect(tracing.spans).toMatchObject([
    {
      name: "moderate",
      kind: "consumer",
      attributes: {
        "reprise.generation": ref.generation,
        "reprise.moderation_mode": "gate",
        "reprise.last_seq": 5,
      },
      events: [{ name: "moderation.redacted", attributes: { "reprise.seq": expect.any(Number) } }],
      error: undefined,
    },
  ]);
  expect(JSON.stringify(tracing.spans)).not.toContain("secret");
});
