import { asSeq, asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { Segment, SegmentHeader } from "../segment/segment-header.ts";
import { createLog } from "../testing/events.ts";
import { sealLog } from "../testing/segments.ts";
import { compareSegments } from "./compare-segments.ts";

const [template] = sealLog(createLog({ generation: "gen_0_a", events: 5 }), {
  generation: "gen_0_a",
  size: 5,
});

function withHeader(change: Partial<SegmentHeader>): Segment {
  return { ...template!, header: { ...template!.header, ...change } };
}

test("segments are ordered by generation, then kind, epoch, first seq, and place in the stream", () => {
  const ordered = [
    withHeader({ epoch: 0, first_seq: asSeq(2), first_stream_seq: asStreamSeq(90) }),
    withHeader({ epoch: 0, first_seq: asSeq(10), first_stream_seq: asStreamSeq(3) }),
    withHeader({ epoch: 1, first_seq: asSeq(2), first_stream_seq: asStreamSeq(1) }),
    withHeader({ kind: "ops", epoch: 0, first_seq: asSeq(0), first_stream_seq: asStreamSeq(9) }),
    withHeader({ kind: "ops", epoch: 0, first_seq: asSeq(0), first_stream_seq: asStreamSeq(10) }),
    withHeader({ kind: "verdict", epoch: 0, first_seq: asSeq(0), first_stream_seq: asStreamSeq(1) }),
    withHeader({ generation: "gen_0_b", epoch: 0, first_seq: asSeq(0), first_stream_seq: asStreamSeq(0) }),
  ];
  expect(ordered.toReversed().toSorted(compareSegments)).toEqual(ordered);
  expect(compareSegments(ordered[0]!, ordered[0]!)).toBe(0);
});
