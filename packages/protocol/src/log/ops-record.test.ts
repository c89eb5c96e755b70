import { asSeq } from "../seq.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyRef } from "../arbitraries.fixture.ts";
import { decodeOpsRecord, encodeOpsRecord, OPS_KINDS, type OpsRecord } from "./ops-record.ts";
import { ERASED_SUBJECTS, opsSubject, parseOpsSubject } from "./subject.ts";

const AT = "2026-11-21T12:00:00.000Z";
const MARK = {
  reader: "rdr_0123456789abcdef",
  protocol: "sse",
  address: "private",
  by: "ann",
  from_seq: asSeq(1),
  seq: asSeq(0),
  started_at: AT,
} as const;

const RECORDS: readonly OpsRecord[] = [
  { kind: "delivered", at: AT, node: "n", readers: [MARK] },
  {
    kind: "delivered",
    at: AT,
    node: "n",
    readers: [
      {
        ...MARK,
        seq: asSeq(9),
        known_seq: asSeq(3),
        ended_at: AT,
        finished: false,
        withdrawn: [[asSeq(5), asSeq(4)]],
      },
    ],
  },
  { kind: "access", at: AT, by: "ann", call: "search", address: "public", query: { model: "sim" } },
  { kind: "erased", at: AT, erasure: "era_1" },
  {
    kind: "administration",
    at: AT,
    by: "operator",
    call: "tenant.policy",
    change: "chg_1",
    stage: "done",
    before: { models: null },
    after: { models: ["sim"] },
  },
];

describe("a record of OPS", () => {
  it.each(RECORDS)("is read as it was written: %j", (record) => {
    expect(decodeOpsRecord(encodeOpsRecord(record))).toEqual(record);
  });

  it.each([
    "",
    "null",
    '{"kind":"other"}',
    JSON.stringify({ ...RECORDS[0], readers: [] }),
    JSON.stringify({ ...RECORDS[0], readers: [{ ...MARK, address: "10.0.0.1" }] }),
    JSON.stringify({ ...RECORDS[0], readers: [{ ...MARK, seq: -1 }] }),
    JSON.stringify({ ...RECORDS[2], call: "look" }),
  ])("is malformed: %j", (text) => {
    expect(decodeOpsRecord(Buffer.from(text))).toBeUndefined();
  });
});

describe("the subject of a record of OPS", () => {
  it("names its tenant, its kind and its generation, if it is of one", () => {
    fc.assert(
      fc.property(anyRef, fc.constantFrom(...OPS_KINDS), fc.boolean(), (ref, kind, ofTenant) => {
        const generation = ofTenant ? undefined : ref.generation;
        expect(parseOpsSubject(opsSubject(kind, ref.tenant, generation))).toEqual({
          kind,
          tenant: ref.tenant,
          generation,
        });
      }),
    );
  });

  it("may have a kind that a later version adds", () => {
    expect(parseOpsSubject("ops.acme.later.-")).toMatchObject({ tenant: "acme", kind: "later" });
  });

  it("is matched by the subject of erasures if it records one, and else not", () => {
    const pattern = new RegExp(`^${ERASED_SUBJECTS.replaceAll(".", "\\.").replaceAll("*", "[^.]+")}$`);
    fc.assert(
      fc.property(anyRef, fc.constantFrom(...OPS_KINDS), ({ tenant, generation }, kind) => {
        expect(pattern.test(opsSubject(kind, tenant, generation))).toBe(kind === "erased");
      }),
    );
  });

  it.each([
    "ops.acme.erased",
    "ops.acme.Other.-",
    "ops.acme.a-b.-",
    "gen.acme.erased.-",
    "ops.acme.erased.x",
    "ops.a b.access.-",
  ])("is not %j", (subject) => {
    expect(() => parseOpsSubject(subject)).toThrow(/not a subject of OPS/);
  });
});
