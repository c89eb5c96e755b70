import { expect, it } from "vitest";
import { asSeq } from "../seq.ts";
import { ConsumedInput } from "./consumed-input.ts";

it("is that of the output that counts, also after a rewind", () => {
  const consumed = new ConsumedInput();
  const delta = (seq: number, input?: number) =>
    consumed.apply({
      seq: asSeq(seq),
      type: "output.delta",
      text: "x",
      ...(input !== undefined && { consumed: asSeq(input) }),
    });
  expect(consumed.last).toBe(0);
  delta(2, 3);
  delta(3);
  delta(4, 9);
  expect(consumed.last).toBe(9);
  consumed.apply({ seq: asSeq(5), type: "output.rewind", to_seq: asSeq(3), reason: "worker_lost" });
  expect(consumed.last).toBe(3);
});
