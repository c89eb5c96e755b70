import { encodeEvent, RepriseError, asSeq, asStreamSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { StoredEvent } from "../read/stored-event.ts";
import { readHistory } from "./read-history.ts";
import { plainFraming } from "../testing/plain-framing.ts";
import { delta, newRef, requested, started } from "../testing/world.ts";
import { GenerationCache } from "./cache/generation-cache.ts";

const REF = newRef();
const LOG: StoredEvent[] = [requested(REF), started(), ...Array.from({ length: 8 }, () => delta("x"))].map(
  (draft, seq) => ({ payload: encodeEvent(asSeq(seq), draft), streamSeq: asStreamSeq(seq + 1), writer: "w" }),
);
const TAIL = new GenerationCache(REF, plainFraming, {
  events: LOG.map(({ payload }) => payload),
  streamSeq: asStreamSeq(10),
});

/** Reads with a replica and a leader that have these events of the log, the replica's in batches of two. */
function readWith(replica: readonly StoredEvent[], leader: readonly StoredEvent[], fromSeq: number) {
  const after = (events: readonly StoredEvent[], streamSeq: number) =>
    events.filter((event) => event.streamSeq > streamSeq);
  const sources = {
    reader: {
      readBatch: (_ref: unknown, streamSeq: number) => {
        const rest = after(replica, streamSeq);
        return Promise.resolve({ events: rest.slice(0, 2), more: rest.length > 2 });
      },
    },
    leader: {
      readTail: (_ref: unknown, streamSeq: number, most?: number) =>
        Promise.resolve(after(leader, streamSeq).slice(0, most)),
    },
  };
  return readHistory(sources, TAIL, asSeq(fromSeq));
}

test("events that the cache has let go of come from the log, from the one that is wanted on", async () => {
  expect(await readWith(LOG, LOG, 5)).toEqual([LOG[5]!.payload]);
  expect(await readWith(LOG, LOG, 4)).toEqual([LOG[4]!.payload, LOG[5]!.payload]);
});

test("a replica that does not have the event yet makes it unavailable for now, not expired", async () => {
  for (const replica of [[], LOG.slice(0, 3), LOG.slice(0, 5)]) {
    const reading = readWith(replica, LOG, 5);
    await expect(reading).rejects.toBeInstanceOf(RepriseError);
    await expect(reading).rejects.toMatchObject({ code: "broker_unavailable", retryable: true });
  }
});

test.each([
  ["the replica has only newer ones", LOG.slice(6), LOG.slice(6)],
  ["the replica has none and the leader only newer ones", [], LOG.slice(6)],
  ["nothing of the log is kept", [], []],
])("an event is expired when %s", async (_, replica, leader) => {
  await expect(readWith(replica, leader, 5)).rejects.toMatchObject({ code: "cursor_expired" });
});
