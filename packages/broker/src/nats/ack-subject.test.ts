import { expect, test } from "vitest";
import { readAckSubject } from "./ack-subject.ts";

test.each([
  ["its first form", "$JS.ACK.JOBS.worker_sim.3.17.42.1700000000000000000.5", 3],
  ["its second form", "$JS.ACK._.Xh3dk2.JOBS.worker_sim.3.17.42.1700000000000000000.5", 3],
  [
    "its second form with a token",
    "$JS.ACK.hub.Xh3dk2.JOBS.worker_sim.12.17.42.1700000000000000000.5.a1",
    12,
  ],
])("a subject for acknowledgements in %s says what was delivered, and how often", (_, subject, times) => {
  expect(readAckSubject(subject)).toEqual({
    deliveries: times,
    streamSeq: 17,
    deliverySeq: 42,
    storedAtMs: 1_700_000_000_000,
    pending: 5,
  });
});
