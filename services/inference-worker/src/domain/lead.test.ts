import { asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Lead } from "./lead.ts";

const LEASE_MS = 1_000;

function openLead(tokens: readonly number[]): Lead {
  const lead = new Lead(LEASE_MS);
  for (const [i, count] of tokens.entries()) {
    lead.said(count);
    lead.stored(asSeq(i + 1), count);
  }
  return lead;
}

test("the lead is what the furthest reader of all nodes has not been sent", () => {
  const seqs = fc.array(fc.nat(20), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 20 }), seqs, (tokens, readers) => {
      const lead = openLead(tokens);
      for (const [i, seq] of readers.entries()) lead.heard(`node-${i}`, { readers: 1, seq: asSeq(seq) }, 0);
      const unread = tokens.slice(Math.max(...readers)).reduce((sum, count) => sum + count, 0);
      expect(lead.at(0)).toBe(unread);
    }),
  );
});

test("a generation without readers has no lead", () => {
  const lead = openLead([5, 5]);
  expect(lead.at(0)).toBe(0);
  lead.heard("a", { readers: 2, seq: asSeq(1) }, 0);
  expect(lead.at(0)).toBe(5);
  lead.heard("a", { readers: 0, seq: asSeq(1) }, 0);
  expect(lead.at(0)).toBe(0);
});

test("what readers of any node may not be shown yet is no lead over them", () => {
  const lead = openLead([5, 1, 2, 4]);
  lead.said(8);
  lead.heard("a", { readers: 1, seq: asSeq(1), held: { fromSeq: asSeq(3), toSeq: asSeq(4) } }, 0);
  expect(lead.at(0)).toBe(1 + 8);
  // A reader that has had more than its node says is held has had it.
  lead.heard("a", { readers: 1, seq: asSeq(3), held: { fromSeq: asSeq(3), toSeq: asSeq(4) } }, 0);
  expect(lead.at(0)).toBe(8);
  lead.heard("b", { readers: 1, seq: asSeq(0), held: { fromSeq: asSeq(1), toSeq: asSeq(9) } }, 0);
  expect(lead.at(0)).toBe(8);
  lead.heard("a", { readers: 0, seq: asSeq(3) }, 0);
  lead.heard("b", { readers: 1, seq: asSeq(0), held: { fromSeq: asSeq(2), toSeq: asSeq(4) } }, 0);
  expect(lead.at(0)).toBe(5 + 8);
});

test("a node that falls silent has no readers any more", () => {
  const lead = openLead([5]);
  lead.heard("a", { readers: 1, seq: asSeq(0) }, 0);
  expect(lead.at(LEASE_MS)).toBe(5);
  expect(lead.at(LEASE_MS + 1)).toBe(0);
});

test("what is not stored yet counts as lead for any reader", () => {
  const lead = openLead([5]);
  lead.said(3);
  lead.heard("a", { readers: 1, seq: asSeq(1) }, 0);
  expect(lead.at(0)).toBe(3);
});
