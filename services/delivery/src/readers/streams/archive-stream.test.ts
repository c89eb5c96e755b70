import {
  type AuditEventsRequest,
  encodeCursor,
  encodeEvent,
  type EventDraft,
  START,
  plus,
} from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import { expect, test } from "vitest";
import { unwrapChunks } from "./native-sse-framing.ts";
import type { SseSocket, SseSocketListener } from "./sse-socket.ts";
import { completed, delta, started } from "../../testing/platform.ts";
import { Replay } from "../../archive-fallback/replay.ts";
import { ArchiveStream } from "./archive-stream.ts";
import { createPrincipal } from "../../testing/principal.ts";

const REF = createRef();
const TEXT = "x".repeat(40_000);

/** A socket that takes `room` writes before it asks for a pause. */
function recordingSocket(room: number) {
  const writes: string[] = [];
  const ends: ("end" | "breakOff")[] = [];
  let left = room;
  let listener: SseSocketListener | undefined;
  const record = (text: string) => {
    writes.push(text);
    return --left > 0;
  };
  const socket: SseSocket = {
    writeFrames: (chunks) => record([...unwrapChunks(chunks)].join("")),
    writeText: record,
    together: (write) => write(),
    end: () => void ends.push("end"),
    breakOff: () => void ends.push("breakOff"),
    listen: (stream) => void (listener = stream),
  };
  const drain = () => {
    left = room;
    listener?.drained();
  };
  return { socket, writes, ends, drain, close: () => listener?.closed() };
}

async function openStream({ room, drafts }: { room: number; drafts: readonly EventDraft[] }) {
  const pages: number[] = [];
  const audit = {
    async events({ from_seq: fromSeq, max_bytes: maxBytes }: AuditEventsRequest) {
      pages.push(fromSeq);
      const count = Math.max(1, Math.floor(maxBytes / TEXT.length));
      const events = drafts.slice(fromSeq - 1, fromSeq - 1 + count).map((draft, i) => {
        const seq = plus(fromSeq, i);
        return { seq, cursor: encodeCursor({ attempt: 1, seq }), payload: encodeEvent(seq, draft) };
      });
      return { events, more: fromSeq - 1 + count < drafts.length };
    },
  };
  const log = { audit, ref: REF, original: false };
  const replay = await Replay.open(log, { cursor: START, param: "after", withRequest: false });
  const fake = recordingSocket(room);
  const closed: ArchiveStream[] = [];
  const counts = { eventsDelivered: 0, fallenBack: 0 };
  const options = {
    replay,
    socket: fake.socket,
    counts,
    principal: createPrincipal(),
    role: "audit" as const,
    onClose: () => void closed.push(stream),
  };
  const stream: ArchiveStream = new ArchiveStream(options);
  return { ...fake, ...options, stream, pages, closed, running: stream.run() };
}

const LONG = [started(), ...Array.from({ length: 30 }, () => delta(TEXT)), completed()];
const settle = () => new Promise(setImmediate);

test("a replay asks for the next page only when the socket has taken the last one", async () => {
  const { pages, writes, drain, ends, running, counts } = await openStream({ room: 1, drafts: LONG });
  await settle();
  expect([pages.length, writes.length]).toEqual([1, 1]);
  await settle();
  expect([pages.length, writes.length]).toEqual([1, 1]);
  for (let written = 0; ends.length === 0; drain(), await settle()) {
    // A page is 6 of the large events, and no two of them fit into one write.
    expect(pages.length).toBeLessThanOrEqual(Math.ceil((writes.length + 1) / 3));
    expect(writes.length).toBeGreaterThanOrEqual(written);
    written = writes.length;
  }
  await running;
  expect(ends).toEqual(["end"]);
  expect(counts.eventsDelivered).toBe(LONG.length);
  expect(writes.join("").match(/^id: .*$/gm)).toEqual(LONG.map((_, i) => `id: 1-${i + 1}`));
});

test("a replay whose client has left asks for nothing more", async () => {
  const { pages, writes, close, closed, stream, running, ends } = await openStream({ room: 1, drafts: LONG });
  await settle();
  close();
  await running;
  expect([pages.length, writes.length, ends, closed]).toEqual([1, 1, [], [stream]]);
});

test("a drain disconnects a replay like any reader", async () => {
  const { stream, writes, ends, closed, running } = await openStream({ room: 1, drafts: LONG });
  await settle();
  stream.disconnectWithRetry(700);
  await running;
  expect([writes.at(-1), ends, closed]).toEqual(["retry: 700\n", ["breakOff"], [stream]]);
});

test("a replay that waits for the archive sends heartbeats, and none where the socket is full", async () => {
  const { stream, writes } = await openStream({ room: 1, drafts: LONG });
  stream.heartbeat(performance.now() + 20_000, 15_000);
  expect(writes).toEqual([": ping\n"]);
  stream.heartbeat(performance.now() + 40_000, 15_000);
  expect(writes).toEqual([": ping\n"]);
});
