import { createRuleSetStore } from "@reprise/moderation";
import { type GenerationLog } from "@reprise/stream";
import {
  BLOB_TTL_SECONDS,
  encodeEvent,
  type EventDraft,
  logSubject,
  parseTenantId,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { requested } from "@reprise/testkit";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { RuleChecks } from "./review/rule-checks.ts";
import { openPlatform, type Platform, REQUEST } from "./testing/platform.ts";
import { openCreates } from "./create-steps.ts";
import type { Asked } from "./create/creating.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

const principal = { tenant: parseTenantId("acme"), keyId: "key", roles: new Set(), policy: {} } as const;

/** Creates a generation at a node that has only what every create needs. */
function create(
  log: GenerationLog,
  { asked = {}, ports = {} }: { asked?: Partial<Asked>; ports?: object } = {},
) {
  const calls: string[] = [];
  const noted = (name: string) => () => void calls.push(name);
  const node = {
    log,
    broker: platform.broker,
    shards: 2,
    modelNames: () => new Set([REQUEST.model]),
    servedBy: () => undefined,
    classifiers: () => undefined,
    fleet: { capabilitiesOf: async () => [], contextTokensOf: async () => undefined },
    ruleSets: createRuleSetStore(log.publish, 3_600_000),
    ruleChecks: new RuleChecks(),
    limits: { create: noted("count"), abandoned: noted("give limits back"), joined: noted("joined") },
    budgets: {
      chargesOf: () => undefined,
      reserve: noted("reserve"),
      abandoned: noted("give budgets back"),
    },
    blobTtlSeconds: BLOB_TTL_SECONDS,
    readerMetrics: { created() {} },
    onError: (error: unknown) => expect.unreachable(String(error)),
    ...ports,
  };
  const creating = openCreates(node as unknown as Parameters<typeof openCreates>[0]).create({
    principal: principal as unknown as Principal,
    request: REQUEST,
    idempotencyKey: undefined,
    ...asked,
  });
  return Object.assign(creating, { calls });
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
  const created = await create(own, { asked: { idempotencyKey: "once" } });
  const joined = await create(own, { asked: { idempotencyKey: "once" } });
  expect([created.joined, joined.joined, reader.readFirst.mock.calls.length]).toEqual([false, true, 2]);
  expect(joined.requested).toEqual(created.requested);
});

const MODERATED = { ...principal, policy: { moderation: { mode: "gate", rules: ["cards"] } } };
const moderated = { principal: MODERATED as unknown as Principal };

test("a create that is not admitted has no rules checked or stored, and gives nothing back", async () => {
  const refused = new Error("refused");
  const creating = create(platform.log, {
    asked: moderated,
    ports: {
      limits: { create: () => Promise.reject(refused) },
      ruleSets: { keep: () => expect.unreachable("rules were stored") },
      ruleChecks: { checkRequested: () => expect.unreachable("rules were checked") },
    },
  });
  await expect(creating).rejects.toBe(refused);
  expect(creating.calls).toEqual([]);
});

test("a create whose rules are refused gives back what was counted for it", async () => {
  const refused = new Error("bad rules");
  const request = {
    ...REQUEST,
    policy: { moderation: { mode: "gate" as const, rules: [{ pattern: "(a" }] } },
  };
  const ports = { ruleChecks: { checkRequested: () => Promise.reject(refused) } };
  const creating = create(platform.log, { asked: { request }, ports });
  await expect(creating).rejects.toBe(refused);
  expect(creating.calls).toEqual(["count", "reserve", "give budgets back", "give limits back"]);
});

test("a request without rules has none checked", async () => {
  const ports = { ruleChecks: { checkRequested: () => expect.unreachable("rules were checked") } };
  await create(platform.log, { asked: moderated, ports });
});

test("a create that fails before its job is sent gives back what it has reserved, last first", async () => {
  const failed = new Error("no rules are stored");
  const ports = { ruleSets: { keep: () => Promise.reject(failed) } };
  const creating = create(platform.log, { asked: moderated, ports });
  await expect(creating).rejects.toBe(failed);
  expect(creating.calls).toEqual(["count", "reserve", "give budgets back", "give limits back"]);
});

test("a create whose job may have been sent gives nothing back", async () => {
  const failed = new Error("no answer");
  const { log } = platform;
  const publish = () => Promise.reject(failed);
  const creating = create({ ...log, publish });
  await expect(creating).rejects.toBe(failed);
  expect(creating.calls).toEqual(["count", "reserve"]);
});
