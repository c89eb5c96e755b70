import {
  type ConversationRecord,
  conversationSubject,
  parseTenantId,
  STREAM_START,
  toConversationId,
  unixNow,
} from "@reprise/protocol";
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { callAway, openWorldBehindProxy } from "@reprise/stream/testing";
import { ConversationAccounts } from "./conversation-accounts.ts";
import { ConversationRows } from "./conversation-rows.ts";

const TENANT = parseTenantId("acme");
const ROW: ConversationRecord = {
  version: 1,
  kind: "conversation",
  id: toConversationId(randomBytes(17)),
  created_at: new Date().toISOString(),
  expires_at: new Date(unixNow() + 3_600_000).toISOString(),
  ttl_seconds: 3_600,
  when_full: "error",
  turns: 0,
};

test("the broker is away as a row is counted, written, found, listed and removed: each waits for it", async () => {
  await using proxied = await openWorldBehindProxy();
  const { broker, log, errors } = proxied;
  const rows = new ConversationRows({ publish: log.publish, reads: broker.reads, budgetMs: () => 60_000 });
  const away = <T>(call: () => Promise<T>) => callAway(proxied, call);
  const subject = conversationSubject(TENANT, ROW.id);
  await away(() => new ConversationAccounts(rows).add(TENANT, 1, 3));
  await away(() => rows.write(subject, ROW, STREAM_START));
  const { row, at } = await away(() => rows.find(TENANT, ROW.id));
  expect(row).toEqual(ROW);
  const page = { after: STREAM_START, limit: 5, isWanted: () => true };
  expect((await away(() => rows.page(TENANT, page))).rows).toMatchObject([{ id: ROW.id }]);
  expect(await away(() => Array.fromAsync(rows.list(subject)))).toMatchObject([{ row: ROW }]);
  await away(() => rows.remove(subject, at));
  expect(await away(() => rows.readSubject(subject))).toEqual({ row: undefined, at: STREAM_START });
  errors.length = 0;
});
