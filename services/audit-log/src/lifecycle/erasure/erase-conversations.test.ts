import * as conversations from "@reprise/conversations";
import { enqueueJob } from "@reprise/jobs";
import {
  asSeq,
  type ConversationRecord,
  conversationSubject,
  encodeEvent,
  type GenerationId,
  opsSubject,
  parseConversationId,
  STREAM_START,
} from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { streamsWith } from "../../testing/search-stores.ts";
import {
  type LifecycleWorld,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../../testing/worlds/lifecycle-world.ts";
import { setHold } from "../hold.ts";
import { eraseSubject } from "./erase.ts";

const SECRET = "what-was-said-in-it";
const conversation = parseConversationId(`conv_${"1".repeat(26)}`);
const { tenant } = createRef();
const who = { tenant, by: "operator", reason: "asked for" };
const settle = { settleMs: SETTLE_MS };
const ofIt = { subject: "s", conversation, input: SECRET };
const missing = { code: "conversation_not_found" };

function rowsOf({ live: { broker, log } }: LifecycleWorld) {
  return new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
}

function accountsOf(world: LifecycleWorld) {
  return new conversations.ConversationAccounts(rowsOf(world));
}

/** A conversation whose last turn was claimed. */
async function open(
  world: LifecycleWorld,
  head?: GenerationId,
  summary?: GenerationId,
): Promise<ConversationRecord> {
  const row: ConversationRecord = {
    version: 1,
    kind: "conversation",
    id: conversation,
    subject: "s",
    when_full: "error",
    turns: 1,
    created_at: "2026-11-24T00:00:00Z",
    expires_at: "2096-11-24T00:00:00Z",
    ttl_seconds: 60,
    ...(head && {
      head: { generation: head, claimed_at: "2026-11-24T00:00:00Z" },
    }),
    ...(head &&
      summary && {
        summary: { generation: summary, turn: head, nth: 1, through: "items.0", turns: 1, bytes: 1_024 },
      }),
  };
  await accountsOf(world).add(tenant, 1);
  await rowsOf(world).write(conversationSubject(tenant, conversation), row, STREAM_START);
  return row;
}

test("while a subject is erased its conversations take no turn: one that was claimed before is erased, though it is stored later, and so is its summary", async () => {
  await using world = await openLifecycleWorld();
  const { live } = world;
  const [first, claimed, summary] = [createRef(), createRef(), createRef()];
  await writeLog(live.log, first, ofIt, [started(), delta(SECRET), completed()]);
  await open(world, claimed.generation, summary.generation);
  // Read by a create before the erasure continues.
  const found = await rowsOf(world).find(tenant, conversation);
  let late: unknown;
  const publish: typeof live.log.publish = async (to, ...message) => {
    if (to === opsSubject("erased", tenant, first.generation)) {
      const next = { ...found.row, head: { generation: createRef().generation, claimed_at: "x" } };
      late = await rowsOf(world).write(conversationSubject(tenant, conversation), next, found.at);
      await expect(rowsOf(world).find(tenant, conversation)).rejects.toMatchObject(missing);
      late ??= "refused";
    }
    return live.log.publish(to, ...message);
  };
  const held = { ...(await world.openContext()), live: { ...live, log: { ...live.log, publish } } };
  const generations = [first, claimed, summary].map(({ generation }) => generation).toSorted();
  expect(await eraseSubject(held, { ...who, subject: "s" }, settle)).toMatchObject({
    certificate: { generations },
  });
  expect(late).toBe("refused");
  for (const ref of [claimed, summary]) {
    const payload = encodeEvent(asSeq(0), requested(ref, ofIt));
    await enqueueJob(live.log.publish, { model: "sim", ref, payload });
  }
  for (const ref of [first, claimed, summary])
    await expect(live.log.reader.readLog(ref)).rejects.toMatchObject({ code: "generation_erased" });
  expect(await rowsOf(world).read(tenant, conversation)).toMatchObject({ row: undefined });
  expect(await accountsOf(world).countOf(tenant)).toBe(0);
  // A worker that takes the job finds a log that is erased, and drops it.
  const left = (await streamsWith(live.broker, SECRET)).filter((stream) => !stream.startsWith("JOBS"));
  expect(left).toEqual([]);
});

test("a subject that has conversations and no generation loses those", async () => {
  await using world = await openLifecycleWorld();
  await open(world);
  await accountsOf(world).add(tenant, 5);
  expect(await eraseSubject(await world.openContext(), { ...who, subject: "s" }, settle)).toEqual({
    kind: "nothing",
  });
  expect(await accountsOf(world).countOf(tenant)).toBe(5);
  expect(await rowsOf(world).read(tenant, conversation)).toMatchObject({ row: undefined });
});

test("an erasure that is refused leaves conversations as they are", async () => {
  await using world = await openLifecycleWorld();
  const ref = createRef();
  await writeLog(world.live.log, ref, ofIt, [started(), completed()]);
  const row = await open(world, ref.generation);
  await setHold(await world.openContext(), { ...who, subject: "s" });
  const erasing = eraseSubject(await world.openContext(), { ...who, subject: "s" }, settle);
  await expect(erasing).rejects.toMatchObject({ code: "erasure_refused" });
  expect((await rowsOf(world).find(tenant, conversation)).row).toEqual(row);
  expect(await accountsOf(world).countOf(tenant)).toBe(1);
});

test("an erasure that is refused for a turn that was claimed last puts conversations back, and they count", async () => {
  await using world = await openLifecycleWorld();
  const row = await open(world, createRef().generation);
  const erasing = eraseSubject(await world.openContext(), { ...who, subject: "s", minDays: 30 }, settle);
  await expect(erasing).rejects.toMatchObject({ code: "erasure_refused" });
  const found = await rowsOf(world).find(tenant, conversation);
  expect(found.row).toEqual(row);
  expect(await accountsOf(world).countOf(tenant)).toBe(1);
});
