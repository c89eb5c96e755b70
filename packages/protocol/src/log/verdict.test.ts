import { asSeq } from "../seq.ts";
import { describe, expect, it } from "vitest";
import { decodeVerdict, encodeVerdict, type Verdict } from "./verdict.ts";

const bytes = new TextEncoder();
const live: Verdict = { judged: asSeq(9), cleared: asSeq(7), decided: asSeq(4) };
const stored: Verdict = {
  ...live,
  spans: [{ from_seq: asSeq(1), to_seq: asSeq(9), rule_set: "a".repeat(26) }],
  findings: [{ rule: "cards", category: "cards", action: "redact", from_seq: asSeq(3), to_seq: asSeq(4) }],
  finding_count: 1,
  classified: asSeq(5),
  unjudged: [{ from_seq: asSeq(6), to_seq: asSeq(8), classifier: "guard" }],
};

describe("a verdict", () => {
  it.each([
    ["live", live],
    ["stored", stored],
  ])("says after the way over the broker what it said before: %s", (_name, verdict) =>
    expect(decodeVerdict(encodeVerdict(verdict))).toEqual(verdict),
  );

  it("of a later version is taken for what this one knows of it", () => {
    expect(decodeVerdict(bytes.encode(JSON.stringify({ ...live, score: 1 })))).toEqual(live);
  });

  it.each([
    "",
    "{",
    "null",
    "7",
    "{}",
    '{"judged":1,"cleared":1}',
    '{"judged":-1,"cleared":0,"decided":0}',
    '{"judged":1,"cleared":2,"decided":0}',
    '{"judged":1.5,"cleared":0,"decided":0}',
    '{"judged":"1","cleared":0,"decided":0}',
    '{"judged":1,"cleared":0,"decided":0,"findings":[{}]}',
  ])("is not made of %j", (payload) => expect(decodeVerdict(bytes.encode(payload))).toBeUndefined());

  it("is not made of bytes that are no text", () => {
    expect(decodeVerdict(Uint8Array.of(0xff, 0xfe))).toBeUndefined();
  });
});
