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

it("is, after an interrupt, what is not to be answered, also after a rewind to it", () => {
  const input = new ConsumedInput();
  input.apply({ seq: asSeq(2), type: "output.delta", text: "a", item: 2, consumed: asSeq(2) });
  // Input that was sent to an engine, of whose answer this is no end.
  input.apply({ seq: asSeq(3), type: "output.delta", text: "b", consumed: asSeq(4) });
  expect([input.last, input.turnSeq]).toEqual([4, 2]);
  input.apply({
    seq: asSeq(5),
    type: "output.rewind",
    to_seq: asSeq(3),
    reason: "interrupted",
    consumed: asSeq(6),
  });
  expect([input.last, input.turnSeq]).toEqual([6, 5]);
  input.apply({ seq: asSeq(8), type: "output.rewind", to_seq: asSeq(5), reason: "worker_lost" });
  expect(input.last).toBe(6);
  input.apply({ seq: asSeq(9), type: "output.rewind", to_seq: asSeq(4), reason: "revised" });
  expect([input.last, input.turnSeq]).toEqual([4, 2]);
});
