import { asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { WaitingEvents } from "./waiting-events.ts";

function waiting(count: number, length: number): WaitingEvents {
  const events = new WaitingEvents();
  for (let at = 1; at <= count; at++)
    events.push({ payload: new Uint8Array(length), streamSeq: asStreamSeq(at) });
  return events;
}

function places(events: WaitingEvents): number[] {
  const all: number[] = [];
  for (let event = events.shift(); event; event = events.shift()) all.push(event.streamSeq);
  return all;
}

test.each([
  ["1,024 events", 2_000, 10, 1_024],
  ["256 KiB of events", 1_000, 32_768, 8],
  ["two events of any size", 4, 1_000_000, 2],
])("keeps %s, the last of which is the latest", (_, count, length, kept) => {
  const events = waiting(count, length);
  expect(events.bytes).toBe(kept * length);
  expect(events.first?.streamSeq).toBe(1);
  const all = places(events);
  expect(all).toHaveLength(kept);
  expect(all.at(-1)).toBe(count);
  expect(events.bytes).toBe(0);
});
