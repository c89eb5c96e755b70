import { type Hub, type StoredEvent, GenerationCache } from "@reprise/stream";
import {
  createGenerationId,
  DEFAULT_POLICY,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  parseCursor,
  parseTenantId,
  RepriseError,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { describe, expect, test, vi } from "vitest";
import { nativeSseFraming } from "../readers/streams/native-sse-framing.ts";
import { resumeFrom } from "./resume-cursor.ts";

const REF: GenerationRef = {
  tenant: parseTenantId("acme"),
  generation: createGenerationId(Buffer.alloc(17, 1), 1),
};
const DRAFTS: EventDraft[] = [
  {
    type: "generation.requested",
    ...REF,
    created_at: "2026-11-21T00:00:00Z",
    request: { model: "sim", input: "hello" },
    policy: DEFAULT_POLICY,
  },
  { type: "generation.started", attempt: 1, worker: "w", model: "sim" },
  { type: "output.delta", text: "a" },
  { type: "output.delta", text: "b" },
];
const LOG: StoredEvent[] = DRAFTS.map((draft, seq) => ({
  payload: encodeEvent(asSeq(seq), draft),
  streamSeq: asStreamSeq(seq + 1),
  writer: "w",
}));

/** A node whose replica has only the first two events, for as long as one asks. */
function lagging(refreshFromLeader: (cache: GenerationCache) => Promise<void>) {
  const events = LOG.slice(0, 2).map(({ payload }) => payload);
  const cache = new GenerationCache(REF, nativeSseFraming, { events, streamSeq: asStreamSeq(2) });
  const hub = { refresh: () => Promise.resolve(), refreshFromLeader } as Partial<Hub> as Hub;
  const resume = (seq: number) =>
    resumeFrom(hub, cache, { cursor: { attempt: 1, seq: asSeq(seq) }, param: "after" });
  return { resume };
}

test("a cursor that another node has shown is good at once, even if the replicas here lag", async () => {
  const { resume } = lagging(async (cache) => cache.events.acceptStored(LOG));
  vi.useFakeTimers();
  expect(await resume(3).finally(() => vi.useRealTimers())).toBe(4);
});

test("a cursor beyond what the leader has is invalid", async () => {
  const { resume } = lagging(async (cache) => cache.events.acceptStored(LOG));
  await expect(resume(4)).rejects.toMatchObject({ code: "cursor_invalid", param: "after" });
});

describe("in a log that lost events and was taken up again", () => {
  const taken = [
    ...DRAFTS.slice(0, 3),
    { type: "generation.started", attempt: 2, worker: "w", model: "sim", reason: "log_lost" },
    { type: "output.delta", text: "b" },
  ] as EventDraft[];
  const events = taken.map((draft, seq) => encodeEvent(asSeq(seq), draft));
  const resume = (attempt: number, seq: number) => {
    const cache = new GenerationCache(REF, nativeSseFraming, {
      events,
      streamSeq: asStreamSeq(events.length),
    });
    const still = () => Promise.resolve();
    const hub = { refresh: still, refreshFromLeader: still } as Partial<Hub> as Hub;
    return resumeFrom(hub, cache, { cursor: { attempt, seq: asSeq(seq) }, param: "after" });
  };

  test("a cursor of an event that is lost is told so, wherever the log is now", async () => {
    for (const seq of [3, 4, 5, 900])
      await expect(resume(1, seq)).rejects.toMatchObject({ code: "events_lost", param: "after" });
  });

  test("a cursor of what is left, or of the attempt after it, is good", async () => {
    expect([await resume(1, 2), await resume(2, 3), await resume(2, 4)]).toEqual([3, 4, 5]);
  });

  test("a cursor that was never issued is invalid, as ever", async () => {
    for (const [attempt, seq] of [
      [2, 2],
      [2, 5],
      [3, 4],
    ] as const) {
      await expect(resume(attempt, seq)).rejects.toMatchObject({ code: "cursor_invalid" });
    }
  });
});

describe("in a log that lost an attempt, whose number another one got that knew nothing of it", () => {
  const taken = [
    DRAFTS[0],
    { type: "generation.started", attempt: 1, worker: "w", model: "sim", nonce: "00000a" },
    { type: "output.delta", text: "a" },
    { type: "generation.started", attempt: 2, worker: "v", model: "sim", nonce: "00000b" },
    { type: "output.delta", text: "b" },
    { type: "output.delta", text: "c" },
  ] as EventDraft[];
  const events = taken.map((draft, seq) => encodeEvent(asSeq(seq), draft));
  const resume = (cursor: string) => {
    const cache = new GenerationCache(REF, nativeSseFraming, {
      events,
      streamSeq: asStreamSeq(events.length),
    });
    const still = () => Promise.resolve();
    const hub = { refresh: still, refreshFromLeader: still } as Partial<Hub> as Hub;
    return resumeFrom(hub, cache, { cursor: parseCursor(cursor), param: "after" });
  };

  test("a cursor of the lost attempt is not taken for one of the other", async () => {
    for (const cursor of ["2.0000ff-4", "2.0000ff-5", "2.0000ff-6", "2-4"])
      await expect(resume(cursor)).rejects.toMatchObject({ code: "cursor_invalid", param: "after" });
    expect(await resume("2.00000b-4")).toBe(5);
  });

  test("a cursor of a lost event of an attempt that is still there is told so, beyond the log's end too", async () => {
    for (const cursor of ["1.00000a-3", "1.00000a-5", "1.00000a-900", "2.00000b-6"])
      await expect(resume(cursor)).rejects.toMatchObject({ code: "events_lost", param: "after" });
    expect(await resume("1.00000a-2")).toBe(3);
  });
});

test("without a leader a cursor beyond what is known is not called invalid", async () => {
  const away = new RepriseError("broker_unavailable", "No leader.");
  const { resume } = lagging(() => Promise.reject(away));
  await expect(resume(3)).rejects.toBe(away);
});
