import { createRuleSetStore, type GenerationLog } from "@reprise/log";
import {
  encodeEvent,
  type EventDraft,
  logSubject,
  parseTenantId,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { requested } from "@reprise/testkit";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { RuleChecks } from "../review/rule-checks.ts";
import { openPlatform, type Platform, REQUEST } from "../testing/platform.ts";
import { createGeneration, type CreateOptions } from "./create-generation.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

function create(log: GenerationLog, options: Partial<CreateOptions> = {}) {
  return createGeneration({
    log,
    ruleSets: createRuleSetStore(log.publish, 3_600_000),
    checkRules: (tenant, rules) => new RuleChecks().checkRequested(tenant, rules),
    shards: 2,
    tenant: parseTenantId("acme"),
    tenantPolicy: {},
    share: { weight: 1, maxRunning: Number.POSITIVE_INFINITY },
    request: REQUEST,
    idempotencyKey: undefined,
    joinOnly: false,
    admit: async () => {},
    traceparent: undefined,
    now: new Date(0),
    connection: platform.broker.main,
    onError: (error) => expect.unreachable(String(error)),
    ...options,
  });
}

test("a seq 0 that a faster worker writes is taken when the live feed shows it, at any time of the clock", async () => {
  const { log } = platform;
  let reads = 0;
  const slow: GenerationLog = {
    ...log,
    // The broker refuses ours while it replicates the worker's, which readers see only later.
    publish: async (subject, payload, options) =>
      subject.startsWith("gen.") ? { kind: "conflict" } : log.publish(subject, payload, options),
    reader: {
      ...log.reader,
      async readFirst(ref) {
        if (++reads > 2) return log.reader.readFirst(ref);
        if (reads === 2)
          await log.publish(
            logSubject(ref),
            encodeEvent(asSeq(0), { ...requested(ref), request: REQUEST } as EventDraft),
            {
              expectedLast: asStreamSeq(0),
            },
          );
        return undefined;
      },
    },
  };
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const created = await create(slow).finally(() => vi.useRealTimers());
  expect([created.joined, created.requested.request, reads]).toEqual([false, REQUEST, 3]);
});

test("a create with a key asks once whether there is something to join, and says what it has stored", async () => {
  const { log } = platform;
  const unread = async () => expect.unreachable("the log was read");
  const reader = {
    ...log.reader,
    readFirst: vi.fn<GenerationLog["reader"]["readFirst"]>((ref) => log.reader.readFirst(ref)),
    readLog: unread,
    readTail: unread,
  };
  const own = { ...log, reader };
  // From here on no pause comes to its end.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const created = await create(own, { idempotencyKey: "once" });
  const joined = await create(own, { idempotencyKey: "once" });
  expect([created.joined, joined.joined, reader.readFirst.mock.calls.length]).toEqual([false, true, 2]);
  expect(joined.first).toMatchObject({ streamSeq: created.first.streamSeq });
  expect(joined.requested).toEqual(created.requested);
});

const MODERATED: CreateOptions["tenantPolicy"] = { moderation: { mode: "gate", rules: ["cards"] } };

test("a create that is not admitted has stored no rules", async () => {
  const kept: unknown[] = [];
  const ruleSets = { keep: async (...call: unknown[]) => String(kept.push(call)) };
  const refused = new Error("refused");
  const creating = create(platform.log, {
    ruleSets,
    tenantPolicy: MODERATED,
    admit: () => Promise.reject(refused),
  });
  await expect(creating).rejects.toBe(refused);
  expect(kept).toEqual([]);
});

test("rules of a request are looked at only once it is admitted, and one whose rules are refused is abandoned", async () => {
  const refused = new Error("refused");
  const request = {
    ...REQUEST,
    policy: { moderation: { mode: "gate" as const, rules: [{ pattern: "(a" }] } },
  };
  const checkRules = vi.fn<CreateOptions["checkRules"]>(() => Promise.reject(new Error("bad rules")));
  await expect(
    create(platform.log, { request, checkRules, admit: () => Promise.reject(refused) }),
  ).rejects.toBe(refused);
  expect(checkRules).not.toHaveBeenCalled();
  const onAbandoned = vi.fn<NonNullable<CreateOptions["onAbandoned"]>>();
  await expect(create(platform.log, { request, checkRules, onAbandoned })).rejects.toThrow("bad rules");
  expect([checkRules, onAbandoned].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
});

test("a request without rules has none checked", async () => {
  const checkRules = vi.fn<CreateOptions["checkRules"]>();
  await create(platform.log, { tenantPolicy: MODERATED, checkRules });
  expect(checkRules).not.toHaveBeenCalled();
});

test("a create that fails before its job is sent is abandoned", async () => {
  const failed = new Error("no rules are stored");
  const admitted: unknown[] = [];
  const abandoned: unknown[] = [];
  const creating = create(platform.log, {
    ruleSets: { keep: () => Promise.reject(failed) },
    tenantPolicy: MODERATED,
    admit: async (created) => void admitted.push(created),
    onAbandoned: (ref) => abandoned.push(ref),
  });
  await expect(creating).rejects.toBe(failed);
  expect(abandoned).toEqual(admitted);
  expect(abandoned).toHaveLength(1);
});
