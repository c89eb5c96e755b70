import fc from "fast-check";
import { expect, test } from "vitest";
import { VarintReader, VarintWriter } from "../varint.ts";
import { KeptTokens } from "./kept-tokens.ts";

/** The most runs that a turn may have, and two before it. */
const MOST_RUNS = 258;
/** Number of runs at the end of a turn that are exact. */
const EXACT = 128;

function encode(kept: KeptTokens): Uint8Array {
  const writer = new VarintWriter();
  kept.encode(writer);
  return writer.bytes;
}

const runsOf = (kept: KeptTokens) => new VarintReader(encode(kept), "Runs").read();
const decode = (bytes: Uint8Array, turnSeq: number | undefined) =>
  KeptTokens.decode(new VarintReader(bytes, "Runs"), turnSeq);

/** Many deltas, and now and then a tool's answer, or a rewind to where workers rewind to, or to a little before. */
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("deltas"), count: fc.nat(600), most: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("result", "restart", "all", "recoded") }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("back"), count: fc.nat(EXACT) }) },
  ),
  { maxLength: 30 },
);

test("every rewind that may come is counted exactly, in bounded memory", () => {
  let joined = 0;
  fc.assert(
    fc.property(steps, fc.nat(), (list, seed) => {
      let kept = new KeptTokens();
      let counted: { seq: number; tokens: number }[] = [];
      let [seq, turnSeq] = [1, 0];
      const rewind = (toSeq: number) => {
        seq++;
        kept.rewind(toSeq);
        counted = counted.filter((one) => one.seq <= toSeq);
        turnSeq = Math.min(turnSeq, toSeq);
      };
      for (const step of list) {
        if (step.kind === "deltas" && "most" in step)
          for (let i = 0; i < step.count; i++) {
            const tokens = (seed + i * i) % (step.most + 1);
            kept.add(++seq, tokens);
            counted.push({ seq, tokens });
          }
        if (step.kind === "result") kept.beginTurn((turnSeq = ++seq));
        if (step.kind === "restart") rewind(turnSeq);
        if (step.kind === "all") rewind(0);
        if (step.kind === "back" && "count" in step) rewind(Math.max(turnSeq, seq - step.count));
        if (step.kind === "recoded") kept = decode(encode(kept), kept.turnSeq);
        expect(kept.total).toBe(counted.reduce((sum, { tokens }) => sum + tokens, 0));
        expect(runsOf(kept)).toBeLessThanOrEqual(MOST_RUNS);
        joined += Number(counted.length > 2 * MOST_RUNS);
      }
    }),
    { numRuns: 300 },
  );
  expect(joined).toBeGreaterThan(50);
});

test("what an earlier version has kept stays exact for any rewind, and grows until a tool has answered", () => {
  const all = new KeptTokens();
  for (let seq = 1; seq <= 200; seq++) all.add(seq, 1 + (seq % 2));
  const kept = decode(encode(all), undefined);
  for (let seq = 201; seq <= 600; seq++) kept.add(seq, 1 + (seq % 2));
  expect(runsOf(kept)).toBe(600);
  const sumTo = (seq: number) => seq + Math.ceil(seq / 2);
  for (const seq of [599, 501, 300, 100, 1]) {
    const back = decode(encode(kept), undefined);
    back.rewind(seq);
    expect(back.total).toBe(sumTo(seq));
  }
  kept.beginTurn(601);
  for (let seq = 602; seq <= 1_000; seq++) kept.add(seq, 1 + (seq % 2));
  expect(runsOf(kept)).toBeLessThanOrEqual(MOST_RUNS);
  kept.rewind(601);
  expect(kept.total).toBe(sumTo(600));
});
