import { openBroker } from "@reprise/broker";
import { asSeq, asStreamSeq, BEYOND_LOG, encodeEvent, type InputEntry, logSubject } from "@reprise/protocol";
import { createGenerationLog, type GenerationCache } from "@reprise/stream";
import { createRef, requested, startTestBroker } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { InputWriters } from "./input-writers.ts";

test("a client that sends more than a MiB in a second has to wait, though its worker has consumed all of it", async () => {
  await using server = await startTestBroker();
  const topology = { shards: 1, replicas: 1, retentionMs: 60_000 };
  await using broker = await openBroker({ url: server.url, name: "test", ...topology });
  const log = createGenerationLog(broker);
  const ref = createRef();
  const payload = encodeEvent(asSeq(0), requested(ref, { input: [], input_stream: { format: "text" } }));
  await log.publish(logSubject(ref), payload, { expectedLast: asStreamSeq(0) });
  const consumed = {
    ended: undefined,
    figures: { input: { last: BEYOND_LOG } },
  } as unknown as GenerationCache;
  const hub = { open: async () => consumed, refresh: async () => {} };
  const writers = new InputWriters({ broker, log, hub });
  const entries = Array.from({ length: 60 }, (): InputEntry => ({
    type: "input.delta",
    text: "x".repeat(16_384),
  }));
  // However long a call takes on this machine, the node's clock stays.
  using _ = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  expect(await writers.append(ref, { first: asSeq(1), entries })).toMatchObject({ stored: 60 });
  await expect(writers.append(ref, { first: asSeq(61), entries })).rejects.toMatchObject({
    code: "limit_exceeded",
    param: "input.bytes_per_second",
  });
  // Entries that are stored already are not counted again.
  expect(await writers.append(ref, { first: asSeq(1), entries })).toMatchObject({ stored: 60 });
});
