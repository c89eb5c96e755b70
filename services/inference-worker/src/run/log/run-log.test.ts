import { asSeq, asStreamSeq, encodeEvent, parseGenerationId, parseTenantId } from "@reprise/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { foldLog, RunLog } from "./run-log.ts";
import { delta, started } from "../../testing/drafts.ts";

test("a log is folded without its request, which is not even parsed", () => {
  const request = Buffer.from(
    '{"seq":0,"type":"generation.requested","request":{"model":"m","input":"a megabyte',
  );
  const transcript = foldLog([
    request,
    encodeEvent(asSeq(1), started(1)),
    encodeEvent(asSeq(2), delta("Hi.")),
  ]);
  expect([transcript.text, transcript.cursor.seq]).toEqual(["Hi.", 2]);
});

test("a log whose end the store has lost writes no checkpoint of it", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const payload = Buffer.from('{"seq":0,"type":"generation.requested"}');
  const streamSeq = asStreamSeq(1);
  const requested = { payload, streamSeq, writer: "" };
  const publishCheckpoint = vi.fn(() => Promise.resolve());
  const leader = { readLast: async () => requested, readTail: async () => [requested] };
  const options = {
    connection: { subscribe: () => ({ unsubscribe() {} }) },
    log: {
      leader,
      publishCheckpoint,
      maxCheckpointBytes: 1_000,
      publish: async () => ({ kind: "stored", streamSeq: asStreamSeq(2), duplicate: false }),
    },
    job: {
      ref: {
        tenant: parseTenantId("acme"),
        generation: parseGenerationId("gen_0_hdmd6hmkpaam5fdmftnrducrhu"),
      },
      payload,
      working() {},
      holdPayloadAt() {},
    },
    snapshot: { events: [payload], streamSeq },
    ackWaitMs: 1_500,
    onError: expect.unreachable,
  };
  using log = new RunLog(options as unknown as ConstructorParameters<typeof RunLog>[0]);
  log.appender.append(delta("lost"));
  await vi.advanceTimersByTimeAsync(1_900);
  expect(log.appender.state.kind).toBe("rolled_back");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(publishCheckpoint).not.toHaveBeenCalled();
});
