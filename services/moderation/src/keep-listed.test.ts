import type { Publish } from "@reprise/log";
import { createGenerationId, parseTenantId } from "@reprise/protocol";
import { expect, test, vi } from "vitest";
import type { JudgingContext } from "./judging-context.ts";
import { keepListed } from "./keep-listed.ts";
import { GATE } from "./testing/log-of.ts";

const ref = { tenant: parseTenantId("acme"), generation: createGenerationId(new Uint8Array(17), 1) };
const REVIEW = {
  reviewId: "rev_1",
  rule: "words",
  category: "terms",
  channelName: "0",
  fromSeq: 2,
  toSeq: 3,
  expiresAtMs: 1_000_000,
  place: undefined,
};

test("a review that the client does not send is told of, and tried again until it is listed", async () => {
  const tooLarge = new Error("larger than the broker takes now");
  const publish = vi.fn<Publish>().mockRejectedValueOnce(tooLarge);
  publish.mockResolvedValue({ kind: "stored", streamSeq: 1, duplicate: false });
  const errors: unknown[] = [];
  const context = { log: { publish }, onError: (error: unknown) => errors.push(error) };
  const of = { context: context as unknown as JudgingContext, ref, moderation: GATE };
  await keepListed(of, REVIEW, () => false);
  expect(errors).toEqual([tooLarge]);
  expect(publish).toHaveBeenCalledTimes(2);
});
