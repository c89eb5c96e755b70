import { DEFAULT_POLICY, encodeEvent, asSeq, asStreamSeq } from "@reprise/protocol";
import { createRef, delta, MODERATION, moderatedPolicy, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { GenerationCache } from "../hub/cache/generation-cache.ts";
import { plainFraming } from "../testing/plain-framing.ts";
import { readPolicy } from "./requested-policy.ts";

/** seq 0 of a node of any version. */
function written(policy: unknown): Uint8Array {
  return encodeEvent(asSeq(0), requested(createRef(), {}, policy as typeof DEFAULT_POLICY));
}

const UNREADABLE: [string, unknown][] = [
  ["a mode", moderatedPolicy({ mode: "quarantine" as "gate" })],
  [
    "an answer to an outage",
    { moderation: { ...MODERATION, on_unavailable: { answer: "hold", after_ms: 1 } } },
  ],
  ["an answer to a review", { moderation: { ...MODERATION, review: { answer: "escalate", after_ms: 1 } } }],
  ["an answer to the loss of a worker", { ...moderatedPolicy(), on_worker_loss: "migrate" }],
  ["a form of moderation", { moderation: ["gate"] }],
  ["a form of policy", 7],
];

test.each(UNREADABLE)("a policy with %s of a later version is refused, not guessed", (_what, policy) => {
  expect(() => readPolicy(written(policy))).toThrow(
    expect.objectContaining({ code: "policy_unsupported", retryable: true, retryAfterMs: 1_000 }),
  );
});

test.each(UNREADABLE)("a log whose policy has %s of a later version is not served", (_what, policy) => {
  const events = [written(policy), encodeEvent(asSeq(1), delta("SECRET"))];
  expect(() => new GenerationCache(createRef(), plainFraming, { events, streamSeq: asStreamSeq(2) })).toThrow(
    expect.objectContaining({ code: "policy_unsupported" }),
  );
});

test("fields of a later version are ignored, those of an earlier one have their defaults", () => {
  const more = { later: { field: 1 } };
  const policy = {
    ...more,
    on_disconnect: { cancel_after: 5, ...more },
    pace: { max_lead_tokens: 3, ...more },
    delivery: { min_interval_ms: 4, ...more },
    moderation: { ...MODERATION, ...more },
  };
  expect(readPolicy(written(policy))).toEqual({
    ...DEFAULT_POLICY,
    on_disconnect: { cancel_after: 5 },
    pace: { max_lead_tokens: 3 },
    delivery: { min_interval_ms: 4 },
    moderation: MODERATION,
  });
});

test("bytes that are no event have no policy", () => {
  expect(readPolicy(new TextEncoder().encode("forged"))).toBeUndefined();
});
