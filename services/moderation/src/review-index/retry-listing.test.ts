import type { Publish } from "@reprise/broker";
import {
  createGenerationId,
  parseTenantId,
  RepriseError,
  asStreamSeq,
  asSeq,
  asUnixMs,
} from "@reprise/protocol";
import { expect, test, vi } from "vitest";
import { retryListing } from "./retry-listing.ts";
import { GATE } from "../testing/log-of.ts";

const ref = { tenant: parseTenantId("acme"), generation: createGenerationId(new Uint8Array(17), 1) };
const REVIEW = {
  reviewId: "rev_1",
  rule: "words",
  category: "terms",
  channelName: "0",
  fromSeq: asSeq(2),
  toSeq: asSeq(3),
  expiresAtMs: asUnixMs(1_000_000),
  offsets: undefined,
  place: undefined,
};

test("a review that can't be listed is reported, and tried again until it is listed", async () => {
  const isAway = new RepriseError("broker_unavailable", "The broker does not answer.");
  const publish = vi.fn<Publish>().mockRejectedValueOnce(isAway);
  publish.mockResolvedValue({ kind: "stored", streamSeq: asStreamSeq(1), duplicate: false });
  const errors: unknown[] = [];
  const context = { log: { publish }, onError: (error: unknown) => errors.push(error) };
  const { signal } = new AbortController();
  await retryListing({ context, ref, moderation: GATE, signal }, REVIEW);
  expect(errors).toEqual([isAway]);
  expect(publish).toHaveBeenCalledTimes(2);
});
