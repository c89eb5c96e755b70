import { expect, test } from "vitest";
import { deliveriesOf } from "./ack-subject.ts";

test.each([
  ["its first form", "$JS.ACK.JOBS.worker_sim.3.17.42.1700000000000000000.5", 3],
  ["its second form", "$JS.ACK._.Xh3dk2.JOBS.worker_sim.3.17.42.1700000000000000000.5", 3],
  [
    "its second form with a token",
    "$JS.ACK.hub.Xh3dk2.JOBS.worker_sim.12.17.42.1700000000000000000.5.a1",
    12,
  ],
])("a subject for acknowledgements in %s says how often its message was handed out", (_, subject, times) => {
  expect(deliveriesOf(subject)).toBe(times);
});
