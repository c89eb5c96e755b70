import { randomBytes } from "node:crypto";
import {
  createGenerationId,
  generationsStream,
  OPS_STREAM,
  encodeEvent,
  logSubject,
  opsSubject,
  parseTenantId,
  shardOf,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { expect, test } from "vitest";
import { groupMessages } from "./group-messages.ts";

const NOON = Date.UTC(2026, 10, 21, 12) * 1_000;
const DAY = 86_400_000_000;
const STREAM = generationsStream(0);
const PUBLISHED = { isPublished: true };
const acme = parseTenantId("acme");
const refs = Array.from({ length: 3 }, () => ({
  tenant: acme,
  generation: createGenerationId(randomBytes(17), 1),
}));

function message(streamSeq: number, ref: (typeof refs)[number], seq: number, storedAtUs = NOON + streamSeq) {
  const payload = encodeEvent(asSeq(seq), { type: "output.delta", text: "x" });
  return { streamSeq: asStreamSeq(streamSeq), storedAtUs, subject: logSubject(ref), payload, ...PUBLISHED };
}

function outline(messages: Parameters<typeof groupMessages>[1]) {
  const { groups } = groupMessages(STREAM, messages);
  return groups.map((group) => [group.day, group.firstSeq, group.messages.map(({ streamSeq }) => streamSeq)]);
}

test("messages of one generation are one group, in the order of the stream", () => {
  const [a, b] = refs.toSorted((x, y) => (x.generation < y.generation ? -1 : 1)) as [
    (typeof refs)[0],
    (typeof refs)[0],
  ];
  expect(outline([message(1, b, 0), message(2, a, 4), message(3, b, 1), message(4, a, 5)])).toEqual([
    ["2026-11-21", 4, [2, 4]],
    ["2026-11-21", 0, [1, 3]],
  ]);
});

test("midnight, and a seq that does not continue by one, begin another group", () => {
  const [ref] = refs as [(typeof refs)[0]];
  expect(
    outline([message(1, ref, 0), message(2, ref, 1), message(3, ref, 1), message(4, ref, 2, NOON + DAY)]),
  ).toEqual([
    ["2026-11-21", 0, [1, 2]],
    ["2026-11-21", 1, [3]],
    ["2026-11-22", 2, [4]],
  ]);
});

test("records of a tenant alone are a group of their own", () => {
  const subject = opsSubject("access", acme);
  const payload = new TextEncoder().encode("{}");
  const { groups } = groupMessages(OPS_STREAM, [
    { streamSeq: asStreamSeq(1), storedAtUs: NOON, subject, payload, ...PUBLISHED },
  ]);
  expect(groups.map(({ tenant, generation }) => [tenant, generation])).toEqual([["acme", "-"]]);
});

test("accesses to a generation are apart from its other records", () => {
  const [ref] = refs as [(typeof refs)[0]];
  const payload = new TextEncoder().encode("{}");
  const at = (streamSeq: number, kind: "access" | "delivered") => ({
    streamSeq: asStreamSeq(streamSeq),
    storedAtUs: NOON,
    subject: opsSubject(kind, acme, ref.generation),
    payload,
    ...PUBLISHED,
  });
  const { groups } = groupMessages(OPS_STREAM, [at(1, "delivered"), at(2, "access"), at(3, "delivered")]);
  expect(groups.map(({ kind, messages }) => [kind, messages.map(({ streamSeq }) => streamSeq)])).toEqual([
    ["access", [2]],
    ["ops", [1, 3]],
  ]);
});

test("a record of a kind that a later version adds is kept among the generation's others", () => {
  const [ref] = refs as [(typeof refs)[0]];
  const at = (streamSeq: number, subject: string) => ({
    streamSeq: asStreamSeq(streamSeq),
    storedAtUs: NOON,
    subject,
    payload: new TextEncoder().encode("{}"),
    ...PUBLISHED,
  });
  const { groups, strays } = groupMessages(OPS_STREAM, [
    at(1, opsSubject("delivered", acme, ref.generation)),
    at(2, `ops.acme.later.${ref.generation}`),
    at(3, `ops.acme.Later.${ref.generation}`),
  ]);
  expect(groups.map(({ kind, messages }) => [kind, messages.map(({ streamSeq }) => streamSeq)])).toEqual([
    ["ops", [1, 2]],
  ]);
  expect(strays).toMatchObject([{ streamSeq: 3 }]);
});

test("what is no message of the platform is told, and is in no group", () => {
  const payload = new TextEncoder().encode("{}");
  const { groups, strays } = groupMessages(STREAM, [
    { streamSeq: asStreamSeq(1), storedAtUs: NOON, subject: "gen.0.acme.other", payload, ...PUBLISHED },
    { ...message(2, refs[0]!, 0), payload },
  ]);
  expect([groups, strays.map(({ streamSeq }) => streamSeq)]).toEqual([[], [1, 2]]);
});

test("what lies in a stream under the subject of another is told, and is in no group", () => {
  const elsewhere = { tenant: acme, generation: createGenerationId(randomBytes(17), 64) };
  const shard = shardOf(elsewhere.generation);
  const [other, own] = [generationsStream(shard + 1), generationsStream(shard)];
  const foreign = message(1, elsewhere, 0);
  expect(groupMessages(own, [foreign]).strays).toEqual([]);
  expect(groupMessages(other, [foreign])).toMatchObject({ groups: [], strays: [{ streamSeq: 1 }] });
  expect(groupMessages(OPS_STREAM, [foreign])).toMatchObject({ groups: [], strays: [{ streamSeq: 1 }] });
});

test("a record that no process has published is told, and is in no group", () => {
  const forged = {
    streamSeq: asStreamSeq(1),
    storedAtUs: NOON,
    subject: opsSubject("access", acme),
    payload: new TextEncoder().encode("{}"),
    isPublished: false,
  };
  expect(groupMessages(OPS_STREAM, [forged])).toMatchObject({
    groups: [],
    strays: [{ error: { code: "protocol_violation" } }],
  });
});
