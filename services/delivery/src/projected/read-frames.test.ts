import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { asSeq } from "@reprise/protocol";
import { completed, delta, redacted, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import type { Reader } from "../readers/reader.ts";
import { createPrincipal } from "../testing/principal.ts";
import { expectedFrames, openCache } from "./cache.fixture.ts";
import { ProjectedCaches } from "./projected-caches.ts";
import { type FramesPorts, readFrames } from "./read-frames.ts";
import { echo } from "./test-projection.fixture.ts";

/** Reads pages of a cache's frames; each comes with the events that its record names. */
function openPages({ cache, hub, feed }: ReturnType<typeof openCache>) {
  const readers = new Set<Reader>();
  const context: FramesPorts = {
    hub: { ...hub, open: async () => cache, refresh: async () => {} },
    projections: new ProjectedCaches(hub),
    authentication: { renewReader: (principal) => principal },
    readers: { enter: (reader) => (readers.add(reader), () => void readers.delete(reader)) },
  };
  async function page(from: number) {
    const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: true });
    let bytesOf = () => 0;
    const frames = await readFrames(context, { raw } as unknown as FastifyReply, {
      ref: cache.ref,
      protocol: "tanstack",
      caller: { by: "ann", address: "public" },
      principal: createPrincipal(),
      role: "read",
      projection: echo,
      from,
      onReplay: (cost) => (bytesOf = cost),
    });
    const record = [...readers].map((reader) => reader.record?.mark()).at(-1);
    raw.emit("close");
    return { frames, bytes: bytesOf(), fromSeq: record?.from_seq, lastSeq: record?.seq };
  }
  return { cache, feed, page };
}

const LENGTH = 1_000;
const texts = Array.from({ length: 400 }, (_, i) => delta(`${i}`.padEnd(LENGTH, "x")));
const whole = ({ cache }: Pick<ReturnType<typeof openCache>, "cache">) =>
  expectedFrames(cache, false).map((frame) => frame.replace(/^event: .*\n/, "").slice("data: ".length, -2));

test.each([
  ["kept", () => {}],
  ["no longer kept", ({ cache }: ReturnType<typeof openCache>) => cache.trim(0)],
])("pages of frames that are %s are full, and their records name the events sent", async (_, forget) => {
  const opened = openCache();
  const { page, feed } = openPages(opened);
  feed(started(), ...texts, completed());
  const expected = whole(opened);
  const sent: string[] = [];
  const units: number[] = [];
  for (;;) {
    forget(opened);
    const { frames, fromSeq, lastSeq } = await page(sent.length);
    if (frames.length === 0) break;
    // Each event after `generation.started` has two frames.
    expect([fromSeq, lastSeq]).toEqual(
      [sent.length, sent.length + frames.length - 1].map((frame) => asSeq(2 + (frame >> 1))),
    );
    sent.push(...frames);
    units.push(frames.join("").length);
  }
  expect(sent).toEqual(expected);
  expect(units.map((length) => length >= 256 * 1_024)).toEqual([true, true, false]);
});

test("a page that is made from the log costs the events before it too", async () => {
  const opened = openCache();
  const { page, feed } = openPages(opened);
  feed(started(), ...Array.from({ length: 2_000 }, () => texts[0]!));
  await page(0);
  opened.cache.trim(0);
  expect((await page(600)).bytes).toBeGreaterThan(500 * LENGTH);
});

test("a page that is made from the log has nothing that was withdrawn", async () => {
  const opened = openCache();
  const { page, feed } = openPages(opened);
  feed(started(), delta("SECRET"), ...texts);
  await page(0);
  feed(redacted(2));
  opened.cache.trim(0);
  const { frames } = await page(0);
  expect(frames.join("")).not.toContain("SECRET");
});
