import * as conversations from "@reprise/conversations";
import {
  asSeq,
  conversationOwner,
  conversationAccountSubject,
  conversationSubject,
  type ConversationRow,
  encodeEvent,
  parseConversationId,
  STREAM_START,
} from "@reprise/protocol";
import { enqueueJob } from "@reprise/jobs";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { keepErrors } from "../../testing/keep-errors.ts";
import { filesWith, readableTexts, streamsWith } from "../../testing/search-stores.ts";
import {
  archivedUpTo,
  findingsIn,
  type LifecycleWorld,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../../testing/worlds/lifecycle-world.ts";
import { eraseSubject } from "../erasure/erase.ts";
import { setHold } from "../hold.ts";
import { DeletedConversations } from "./deleted-conversations.ts";

const SECRET = "what-was-said-in-it";
const PUBLIC = "what-others-have-said";
const conversation = parseConversationId(`conv_${"1".repeat(26)}`);
const other = parseConversationId(`conv_${"2".repeat(26)}`);
const { tenant } = createRef();
const who = { tenant, by: "operator", reason: "asked for" };
const options = { settleMs: SETTLE_MS };

function rowsOf({ live: { broker, log } }: LifecycleWorld) {
  return new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
}

async function put(world: LifecycleWorld, row: ConversationRow & { id: typeof conversation }): Promise<void> {
  expect(await rowsOf(world).write(conversationSubject(tenant, row.id), row, STREAM_START)).toBeDefined();
}

const deleted = (head?: ReturnType<typeof createRef>["generation"]) =>
  ({
    version: 1,
    kind: "deleted",
    id: conversation,
    by: "ann",
    deleted_at: "2026-11-24T00:00:00Z",
    ...(head && { head }),
  }) as const;

async function erase(
  world: LifecycleWorld,
  minDays: number | "unknown" = 0,
  round = new DeletedConversations(),
): Promise<unknown[]> {
  const errors: unknown[] = [];
  const context = await world.openContext();
  const minDaysOf = () => (minDays === "unknown" ? undefined : minDays);
  await round.erase(context, minDaysOf, { ...options, onError: keepErrors(errors) });
  return errors;
}

test("the turns of a deleted conversation are erased, with one and its summary on their way, and no others; then its row goes", async () => {
  await using world = await openLifecycleWorld();
  const { log, broker } = world.live;
  const [first, second, claimed, stranger, sibling, summary] = Array.from({ length: 6 }, () => createRef());
  await using archiver = await world.startArchiver();
  // Turns of one subject, in two conversations and in none: what is deleted is one of these.
  const ofIt = { subject: "s", conversation, input: SECRET };
  await writeLog(log, first!, ofIt, [started(), delta(SECRET), completed()]);
  await writeLog(log, second!, ofIt, [started(), delta(SECRET)]);
  await writeLog(log, stranger!, { subject: "s", input: PUBLIC }, [started(), delta(PUBLIC), completed()]);
  const ofOther = { subject: "s", conversation: other, input: PUBLIC };
  await writeLog(log, sibling!, ofOther, [started(), delta(PUBLIC), completed()]);
  await archivedUpTo(world, PUBLIC);
  await archivedUpTo(world, SECRET);
  await put(world, { ...deleted(claimed!.generation), summary: summary!.generation });

  expect(await erase(world)).toEqual([]);
  await expect.poll(() => filesWith(world.server.storeDir, conversation)).toEqual([]);
  // Its creator had died, or slept: what comes now is too late.
  for (const ref of [claimed!, summary!])
    await enqueueJob(log.publish, {
      model: "sim",
      ref,
      payload: encodeEvent(asSeq(0), requested(ref, ofIt)),
    });
  await writeLog(log, createRef(), { input: "the last one" }, [completed()]);
  await archivedUpTo(world, "the last one");
  await archiver.stop();

  expect(await rowsOf(world).read(tenant, conversation)).toMatchObject({ row: undefined });
  for (const ref of [first!, second!])
    await expect(log.reader.readLog(ref)).rejects.toMatchObject({ code: "generation_erased" });
  const { keyring, archive } = await world.openContext();
  const [erasure] = archive.state.records(tenant).filter(({ kind }) => kind === "erasure_requested");
  expect(erasure).toMatchObject({
    by: "ann",
    reason: "conversation deleted",
    generations: [first!, second!, claimed!, summary!].map(({ generation }) => generation).toSorted(),
  });
  const texts = await readableTexts(world.store, keyring);
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
  expect(texts.filter((text) => text.includes(PUBLIC))).toHaveLength(4);
  expect(await filesWith(world.dir, SECRET)).toEqual([]);
  expect(await findingsIn(world)).toEqual([]);
  expect(await streamsWith(broker, PUBLIC)).not.toEqual([]);
});

test("a deleted conversation whose last claim was for another's generation leaves that one", async () => {
  await using world = await openLifecycleWorld();
  const { log } = world.live;
  const [archived, live] = [createRef(), createRef()];
  await using archiver = await world.startArchiver();
  const ofOther = { conversation: other, input: PUBLIC };
  await writeLog(log, archived, ofOther, [started(), delta(PUBLIC), completed()]);
  await archivedUpTo(world, PUBLIC);
  await archiver.stop();
  await writeLog(log, live, ofOther, [started(), delta(PUBLIC)]);
  for (const { generation } of [archived, live]) {
    await put(world, deleted(generation));
    expect(await erase(world)).toEqual([]);
    expect(await rowsOf(world).read(tenant, conversation)).toMatchObject({ row: undefined });
  }
  const { archive } = await world.openContext();
  expect(archive.state.records(tenant).filter(({ kind }) => kind === "erasure_requested")).toEqual([]);
  for (const ref of [archived, live]) expect((await log.reader.readLog(ref)).events).not.toEqual([]);
});

test("a round erases four conversations of a tenant that had turns, and removes all that had none", async () => {
  await using world = await openLifecycleWorld();
  const ids = Array.from({ length: 7 }, (_, i) => parseConversationId(`conv_${`${i}`.repeat(26)}`));
  for (const [i, id] of ids.entries())
    await put(world, { ...deleted(i < 5 ? createRef().generation : undefined), id });
  const round = new DeletedConversations();
  const left = async () => {
    const rows = await Promise.all(ids.map((id) => rowsOf(world).read(tenant, id)));
    return ids.filter((_, i) => rows[i]!.row !== undefined);
  };
  expect(await erase(world, 0, round)).toEqual([]);
  expect(await left()).toEqual([ids[4]]);
  expect(await erase(world, 0, round)).toEqual([]);
  expect(await left()).toEqual([]);
});

test("a subject's erasure takes its conversations, and a single turn is not erased without the others", async () => {
  await using world = await openLifecycleWorld();
  const { log } = world.live;
  const [first, second] = [createRef(), createRef()];
  await using archiver = await world.startArchiver();
  for (const ref of [first, second])
    await writeLog(log, ref, { subject: "s", conversation, input: SECRET }, [
      started(),
      delta(SECRET),
      completed(),
    ]);
  await archivedUpTo(world, SECRET);
  const times = { created_at: "2026-11-24T00:00:00Z", expires_at: "2027-11-24T00:00:00Z", ttl_seconds: 60 };
  const row = { version: 1, kind: "conversation", when_full: "error", turns: 2, ...times } as const;
  await put(world, { ...row, id: conversation, subject: "s" });
  await put(world, { ...row, id: other, subject: "t" });

  const context = await world.openContext();
  const single = eraseSubject(context, { ...who, generation: first.generation }, options);
  await expect(single).rejects.toMatchObject({ code: "erasure_refused" });
  const outcome = await eraseSubject(await world.openContext(), { ...who, subject: "s" }, options);
  const generations = [first, second].map(({ generation }) => generation).toSorted();
  expect(outcome).toMatchObject({ kind: "erased", certificate: { generations } });
  await archiver.stop();
  const kept = await Array.fromAsync(rowsOf(world).list(), ({ row: { kind }, subject }) => [kind, subject]);
  expect(kept).toEqual([
    ["conversation", conversationSubject(tenant, other)],
    ["account", conversationAccountSubject(tenant)],
  ]);
  const { keyring } = await world.openContext();
  const texts = await readableTexts(world.store, keyring);
  expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
});

test("a conversation under a legal hold, or younger than its tenant's minimum, is erased when that is over", async () => {
  await using world = await openLifecycleWorld();
  const ref = createRef();
  await using archiver = await world.startArchiver();
  await writeLog(world.live.log, ref, { conversation, input: SECRET }, [started(), completed()]);
  await archivedUpTo(world, SECRET);
  await archiver.stop();
  await put(world, deleted(ref.generation));
  const rounds = new DeletedConversations();
  const refused = [expect.objectContaining({ code: "erasure_refused" })];
  expect(await erase(world, 30, rounds)).toEqual(refused);
  expect(await erase(world, "unknown", rounds)).toEqual([]);
  await setHold(await world.openContext(), { ...who, subject: conversationOwner(conversation) });
  expect(await erase(world, 0, rounds)).toEqual(refused);
  expect((await world.live.log.reader.readLog(ref)).events).toHaveLength(3);
  expect((await rowsOf(world).read(tenant, conversation)).row?.kind).toBe("deleted");
});
