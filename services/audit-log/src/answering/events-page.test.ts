import { asStreamSeq, asSeq } from "@reprise/protocol";
import { describe, expect, it } from "vitest";
import { toEventsPage } from "./events-page.ts";
import type { ShownEvent } from "./shown-events.ts";

const event = (seq: number, text = "é"): ShownEvent => ({
  seq: asSeq(seq),
  streamSeq: asStreamSeq(seq),
  storedAtUs: 1_999 + seq,
  payload: Buffer.from(`{"text":"${text}"}`),
  cursor: `1-${seq}`,
});
async function* log(...events: ShownEvent[]) {
  yield* events;
}
const line = (seq: number) => `1-${seq} ${seq < 1 ? 1 : 2} {"text":"é"}\n`;
const lineBytes = Buffer.byteLength(line(1));

describe("a page of events", () => {
  it("has as many whole lines as fit into its bytes, and says whether there are more", async () => {
    expect(await toEventsPage(log(event(1), event(2)), 2 * lineBytes)).toEqual({
      lines: line(1) + line(2),
      more: false,
    });
    expect(await toEventsPage(log(event(1), event(2)), 2 * lineBytes - 1)).toEqual({
      lines: line(1),
      more: true,
    });
  });

  it("has one event even where that is too large: a reader would never get past it otherwise", async () => {
    expect(await toEventsPage(log(event(1), event(2)), 1)).toEqual({ lines: line(1), more: true });
  });

  it("ends before what can't be had, which the next page says", async () => {
    const broken = async function* (...events: ShownEvent[]) {
      yield* events;
      throw new Error("a hole");
    };
    expect(await toEventsPage(broken(event(1)), 100)).toEqual({ lines: line(1), more: true });
    await expect(toEventsPage(broken(), 100)).rejects.toThrow("a hole");
  });
});
