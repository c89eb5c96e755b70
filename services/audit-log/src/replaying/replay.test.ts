import { type DeliveryMark, asSeq } from "@reprise/protocol";
import { completed, createRef, delta, redacted, requested, started } from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { openFilledArchive } from "../testing/filled-archive.ts";
import { formatEvent, type ReplayFormat } from "./replay-format.ts";
import { openReplay, type Replay, inPace } from "./replay.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const mark: DeliveryMark = {
  reader: "rdr_1",
  protocol: "sse",
  address: "public",
  by: "key",
  from_seq: asSeq(1),
  seq: asSeq(4),
  started_at: "2026-11-21T12:00:00.000Z",
  withdrawn: [[asSeq(4), asSeq(2)]],
};

async function openWorld() {
  const filled = await openFilledArchive();
  const ref = createRef();
  const drafts = [
    requested(ref),
    started(),
    delta("555-"),
    delta("0199"),
    redacted(2, 3, "[x]"),
    completed(),
  ];
  filled.log(ref, drafts, NOON_US);
  filled.ops(ref, { kind: "delivered", at: mark.started_at, node: "n1", readers: [mark] });
  await filled.commit();
  const replay = (of: { shownTo?: string; original?: boolean }) =>
    openReplay(filled.reader, { ref, shownTo: of.shownTo, original: of.original ?? false });
  return { filled, ref, replay, [Symbol.asyncDispose]: () => filled[Symbol.asyncDispose]() };
}

async function writtenAs(format: ReplayFormat, replay: Replay): Promise<string> {
  if (replay.kind !== "events") throw new Error(replay.kind);
  let text = "";
  for await (const event of replay.events) text += formatEvent(format, event);
  return text;
}

describe("a replay", () => {
  it("is what one connection was handed, as far as it came", async () => {
    await using world = await openWorld();
    const replay = await world.replay({ shownTo: "rdr_1" });
    expect(replay).toMatchObject({ mark });
    expect(await writtenAs("sse", replay)).toBe(
      [
        'id: 1-1\ndata: {"seq":1,"type":"generation.started","attempt":1,"worker":"w","model":"sim"}\n\n',
        'id: 1-2\ndata: {"seq":2,"type":"output.delta","text":"555-"}\n\n',
        'id: 1-3\ndata: {"seq":3,"type":"output.delta","text":"","redacted":true}\n\n',
        'id: 1-4\ndata: {"seq":4,"type":"moderation.redacted","from_seq":2,"to_seq":3,"replacement":"[x]","rule":"terms","category":"terms"}\n\n',
      ].join(""),
    );
  });

  it("is what was generated, with cursors and times, where that is asked for", async () => {
    await using world = await openWorld();
    const lines = (await writtenAs("json", await world.replay({ original: true }))).split("\n");
    expect(lines).toHaveLength(7);
    expect(JSON.parse(lines[0]!)).toMatchObject({ cursor: "0-0", event: { type: "generation.requested" } });
    expect(JSON.parse(lines[2]!)).toEqual({
      cursor: "1-2",
      at: "2026-11-21T12:00:00.002000Z",
      event: { seq: 2, type: "output.delta", text: "555-" },
    });
  });
});

async function* stored(...ms: number[]) {
  for (const at of ms) yield { storedAtUs: at * 1_000 };
}

/** When each event was handed on, in milliseconds since the first. `costMs` is what their consumer needs for each. */
async function timesOf(speed: number, costMs = 0): Promise<number[]> {
  let clock = 500;
  const times: number[] = [];
  const pause = async (ms: number) => void (clock += ms);
  for await (const _ of inPace(stored(7_000, 7_100, 7_100, 8_000), { speed, now: () => clock, pause })) {
    times.push(clock - 500);
    clock += costMs;
  }
  return times;
}

it("events come as far apart as they were stored, or faster by a factor, the first at once", async () => {
  expect(await timesOf(1)).toEqual([0, 100, 100, 1_000]);
  expect(await timesOf(10)).toEqual([0, 10, 10, 100]);
  expect(await timesOf(Number.POSITIVE_INFINITY)).toEqual([0, 0, 0, 0]);
});

it("a slow consumer gets the next ones when they are due, not later", async () => {
  expect(await timesOf(1, 80)).toEqual([0, 100, 180, 1_000]);
});
