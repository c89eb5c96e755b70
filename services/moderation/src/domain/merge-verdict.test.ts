import { type Verdict, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type JudgedSoFar, mergeVerdict } from "./merge-verdict.ts";

const BY = { rule_set: "new" };
const OLD = { rule_set: "old" };

const finding = (rule: string) => ({
  rule,
  category: "c",
  action: "flag" as const,
  from_seq: asSeq(1),
  to_seq: asSeq(1),
});
const gap = (seq: number, classifier = "guard") => ({ from_seq: asSeq(seq), to_seq: asSeq(seq), classifier });

const now = (of: Partial<JudgedSoFar> = {}): JudgedSoFar => ({
  judged: asSeq(5),
  cleared: asSeq(4),
  decided: asSeq(3),
  attempt: { attempt: 1, nonce: "00000a", fromSeq: asSeq(1) },
  findings: [finding("now")],
  findingCount: 1,
  classified: asSeq(2),
  unjudged: [],
  ...of,
});

const stored: Verdict = {
  judged: asSeq(9),
  cleared: asSeq(8),
  decided: asSeq(7),
  attempt: 1,
  nonce: "00000a",
  spans: [{ from_seq: asSeq(1), to_seq: asSeq(9), ...OLD }],
  findings: [finding("a"), finding("b")],
  finding_count: 2,
  classified: asSeq(6),
  unjudged: [gap(1)],
};

test("the first verdict says what is judged", () => {
  expect(mergeVerdict(undefined, now({ classified: asSeq(0) }), BY)).toEqual({
    judged: 5,
    cleared: 4,
    decided: 3,
    attempt: 1,
    nonce: "00000a",
    spans: [{ from_seq: 1, to_seq: 5, ...BY }],
    findings: [finding("now")],
    finding_count: 1,
  });
});

test("a verdict never says less than the stored one", () => {
  expect(mergeVerdict(stored, now(), BY)).toEqual(stored);
});

test("a verdict says more than the stored one where more is known", () => {
  const more = now({
    judged: asSeq(12),
    cleared: asSeq(11),
    decided: asSeq(10),
    attempt: { attempt: 2, nonce: "00000b", fromSeq: asSeq(10) },
    findings: [finding("c"), finding("d")],
    findingCount: 5,
    classified: asSeq(8),
    unjudged: [gap(1), gap(1, "other"), gap(2)],
  });
  expect(mergeVerdict(stored, more, BY)).toEqual({
    judged: 12,
    cleared: 11,
    decided: 10,
    attempt: 2,
    nonce: "00000b",
    spans: [
      { from_seq: 1, to_seq: 9, ...OLD },
      { from_seq: 10, to_seq: 12, ...BY },
    ],
    findings: [finding("c"), finding("d")],
    finding_count: 5,
    classified: 8,
    unjudged: [gap(1), gap(1, "other"), gap(2)],
  });
});

test("of a stored verdict on events that are lost only the rules that judged the earlier ones stay", () => {
  const attempt = { attempt: 2, nonce: "00000b", fromSeq: asSeq(4) };
  expect(mergeVerdict(stored, now({ attempt }), BY)).toEqual({
    judged: 5,
    cleared: 4,
    decided: 3,
    attempt: 2,
    nonce: "00000b",
    spans: [
      { from_seq: 1, to_seq: 3, ...OLD },
      { from_seq: 4, to_seq: 5, ...BY },
    ],
    findings: [finding("now")],
    finding_count: 1,
    classified: 2,
  });
});

test("keeps the first 100 unjudged windows", () => {
  const unjudged = Array.from({ length: 120 }, (_, i) => gap(i + 1));
  const { unjudged: kept } = mergeVerdict(stored, now({ unjudged }), BY);
  expect([kept?.length, kept?.at(-1)]).toEqual([100, gap(100)]);
});
