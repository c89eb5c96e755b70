import { randomBytes } from "node:crypto";
import {
  type ConversationRecord,
  conversationSubject,
  parseTenantId,
  STREAM_START,
  toConversationId,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openWorld, type World } from "@reprise/stream/testing";
import { ConversationAccounts } from "./conversation-accounts.ts";
import { ConversationRows } from "./conversation-rows.ts";
import { sweepConversations } from "./sweep-conversations.ts";

const [ACME, BETA] = [parseTenantId("acme"), parseTenantId("beta")];
const HOUR_MS = 3_600_000;

let world: World;
let rows: ConversationRows;
let accounts: ConversationAccounts;

beforeEach(async () => {
  world = await openWorld();
  const { broker, log } = world;
  rows = new ConversationRows({ publish: log.publish, reads: broker.reads, budgetMs: () => 20_000 });
  accounts = new ConversationAccounts(rows);
});
afterEach(() => world[Symbol.asyncDispose]());

async function write(tenant = ACME, ttlMs = 10 * HOUR_MS): Promise<ConversationRecord> {
  const row: ConversationRecord = {
    version: 1,
    kind: "conversation",
    id: toConversationId(randomBytes(17)),
    created_at: new Date().toISOString(),
    expires_at: new Date(unixNow() + ttlMs).toISOString(),
    ttl_seconds: 3_600,
    when_full: "error",
    turns: 0,
  };
  await rows.write(conversationSubject(tenant, row.id), row, STREAM_START);
  return row;
}

const sweepIn = (ms: number) => sweepConversations({ rows, accounts }, { nowMs: (unixNow() + ms) as UnixMs });

test("a sweep gives back the share of what is over, also while the account is in use", async () => {
  for (const ttlMs of [1_000, 1_000, 10 * HOUR_MS]) {
    await accounts.add(ACME, 1, 3);
    await write(ACME, ttlMs);
  }
  await expect(accounts.add(ACME, 1, 3)).rejects.toMatchObject({
    code: "limit_exceeded",
    param: "conversations.max",
  });
  // The account has changed a moment ago by the clock of this sweep's process.
  expect(await sweepIn(0)).toBe(0);
  expect(await accounts.countOf(ACME)).toBe(3);
  expect(await sweepIn(HOUR_MS)).toBe(2);
  expect(await accounts.countOf(ACME)).toBe(1);
});

test.each([
  ["says too much, where a process has died between it and the row", 7],
  ["says too little", 1],
  ["is not there", 0],
])("a sweep puts an account right that %s", async (_, said) => {
  await accounts.add(ACME, said);
  for (let i = 0; i < 3; i++) await write(ACME);
  await write(BETA);
  await sweepIn(HOUR_MS);
  expect(await accounts.countOf(ACME)).toBe(3);
  expect(await accounts.countOf(BETA)).toBe(1);
});

test("a sweep does not count a conversation twice whose row changes while it reads", async () => {
  const written = await Promise.all(Array.from({ length: 600 }, () => write()));
  await accounts.add(ACME, written.length);
  const [first] = written;
  const list = rows.list.bind(rows);
  let changes = 0;
  rows.list = async function* (...args) {
    for await (const listed of list(...args)) {
      yield listed;
      const { subject } = listed;
      if (changes++ === 0) await rows.write(subject, { ...first!, turns: 1 }, listed.at);
    }
  };
  await sweepIn(HOUR_MS);
  expect(changes).toBeGreaterThan(written.length);
  expect(await accounts.countOf(ACME)).toBe(written.length);
});
