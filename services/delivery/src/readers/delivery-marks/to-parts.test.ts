import { type DeliveryMark, asSeq, type Seq } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toParts } from "./to-parts.ts";

const MARK: DeliveryMark = {
  reader: "rdr_0123456789abcdef",
  protocol: "snapshot",
  address: "loopback",
  by: "x".repeat(64),
  from_seq: asSeq(999_999),
  seq: asSeq(999_999),
  known_seq: asSeq(999_999),
  started_at: "2026-11-21T12:00:00.000Z",
  ended_at: "2026-11-21T12:00:00.000Z",
};

test("marks are put into records in their order, each of which the broker takes", () => {
  const anyMarks = fc.array(
    fc.integer({ min: 0, max: 20_000 }).map((withdrawals): DeliveryMark => {
      return {
        ...MARK,
        withdrawn: Array.from({ length: withdrawals }, (): [Seq, Seq] => [asSeq(999_999), asSeq(999_999)]),
      };
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(anyMarks, (marks) => {
      const parts = toParts(marks);
      expect(parts.flat()).toEqual(marks);
      for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(512 * 1_024);
    }),
    { numRuns: 20 },
  );
});

test("three hundred readers are one record", () => {
  expect(toParts(Array.from({ length: 300 }, () => MARK))).toHaveLength(1);
});
