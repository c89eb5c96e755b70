import { asSeq, encodeEvent, parseConversationId } from "@reprise/protocol";
import { createRef, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { RunRequest } from "./run-request.ts";

const ref = createRef();
const conversation = parseConversationId(`conv_${"0".repeat(26)}`);

/** The oldest event of a log, and how often it was asked for: each time it is parsed. */
function countReads() {
  const payload = encodeEvent(asSeq(0), requested(ref, { conversation }));
  let reads = 0;
  return {
    log: {
      first() {
        reads++;
        return payload;
      },
    },
    reads: () => reads,
  };
}

test("a request that is verified and then asked for is parsed once: it may be a megabyte", async () => {
  const { log, reads } = countReads();
  const request = new RunRequest(log, undefined);
  await request.verify({} as never, ref.tenant);
  request.get();
  request.media();
  expect(reads()).toBe(1);
  request.release();
  await request.verify({} as never, ref.tenant);
  expect(reads()).toBe(2);
});
