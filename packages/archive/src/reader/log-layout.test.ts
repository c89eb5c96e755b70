import { asStreamSeq, asSeq } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layOutLog, type LogPlace } from "./log-layout.ts";

const place = (epoch: number, first_stream_seq: number, first_seq: number, last_seq: number): LogPlace => ({
  epoch,
  first_stream_seq: asStreamSeq(first_stream_seq),
  first_seq: asSeq(first_seq),
  last_seq: asSeq(last_seq),
});
const layOut = (places: readonly LogPlace[]) => layOutLog(places, (one) => one);

describe("the layout of a log", () => {
  it("joins segments in the order in which they were stored, for any order of input", () => {
    const [a, b, c] = [place(0, 1, 0, 4), place(0, 9, 5, 5), place(0, 12, 6, 9)] as const;
    expect(layOut([c, a, b])).toEqual({
      stretches: [
        { segment: a, fromSeq: 0, toSeq: 4 },
        { segment: b, fromSeq: 5, toSeq: 5 },
        { segment: c, fromSeq: 6, toSeq: 9 },
      ],
      holes: [],
    });
  });

  it("ends what an earlier epoch says where a later one continues", () => {
    const [a, b, later] = [place(0, 1, 0, 4), place(0, 6, 5, 9), place(1, 4, 3, 5)] as const;
    expect(layOut([a, b, later])).toEqual({
      stretches: [
        { segment: a, fromSeq: 0, toSeq: 2 },
        { segment: later, fromSeq: 3, toSeq: 5 },
      ],
      holes: [],
    });
  });

  it("says what is missing at the beginning and in between", () => {
    const [a, b] = [place(0, 5, 2, 4), place(0, 12, 8, 9)];
    expect(layOut([a, b]).holes).toEqual([
      { fromSeq: 0, toSeq: 1 },
      { fromSeq: 5, toSeq: 7 },
    ]);
  });

  it("is what was stored last in each place, up to the end of the last epoch", () => {
    const anyEpochs = fc.array(
      fc.tuple(fc.nat(20), fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(anyEpochs, fc.infiniteStream(fc.nat()), (epochs, order) => {
        const written: LogPlace[] = [];
        let model: LogPlace[] = [];
        for (const [epoch, [from, lengths]] of epochs.entries()) {
          let seq = Math.min(from, model.length);
          model = model.slice(0, seq);
          for (const length of lengths) {
            const one = place(epoch, 100 + seq, seq, seq + length - 1);
            written.push(one);
            for (let i = 0; i < length; i++) model.push(one);
            seq += length;
          }
        }
        const shuffled = written
          .map((one) => [order.next().value, one] as const)
          .toSorted(([a], [b]) => a - b)
          .map(([, one]) => one);
        const { stretches, holes } = layOut(shuffled);
        const joined = stretches.flatMap(({ segment, fromSeq, toSeq }) =>
          Array.from({ length: toSeq - fromSeq + 1 }, () => segment),
        );
        expect(joined).toEqual(model);
        expect(stretches.every(({ fromSeq }, i) => fromSeq === (stretches[i - 1]?.toSeq ?? -1) + 1)).toBe(
          true,
        );
        expect(stretches.filter(({ fromSeq, toSeq }) => fromSeq > toSeq)).toEqual([]);
        expect(holes).toEqual([]);
      }),
    );
  });
});
