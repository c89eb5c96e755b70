import { DEFAULT_POLICY, encodeEvent, asSeq, parseConversationId } from "@reprise/protocol";
import { createRef, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { readReapRequest } from "./read-reap-request.ts";

const DAY = { after_ms: 86_400_000, answer: "fail" };
const { queue, total, between_tokens } = DEFAULT_POLICY.timeouts;
const COMPLETE = { after_ms: 5, answer: "complete" };

function written(policy: unknown): Uint8Array {
  return encodeEvent(asSeq(0), requested(createRef(), {}, policy as typeof DEFAULT_POLICY));
}

test.each([
  ["nothing", undefined, { on_disconnect: "keep", timeouts: { queue, total, between_tokens } }],
  [
    "a mode of moderation",
    { moderation: { mode: "quarantine" } },
    { on_disconnect: "keep", timeouts: { queue, total, between_tokens } },
  ],
  [
    "an answer to one timeout",
    {
      on_disconnect: { cancel_after: 3 },
      timeouts: { queue: { after_ms: 5, answer: "ask" }, total: COMPLETE },
    },
    { on_disconnect: { cancel_after: 3 }, timeouts: { queue: DAY, total: COMPLETE, between_tokens } },
  ],
  [
    "an answer to absence",
    { on_disconnect: { pause_after: 3 }, timeouts: { queue: COMPLETE } },
    { on_disconnect: "keep", timeouts: { queue: COMPLETE, total, between_tokens } },
  ],
  [
    "a form of timeouts",
    { timeouts: "long" },
    { on_disconnect: "keep", timeouts: { queue: DAY, total: DAY, between_tokens: DAY } },
  ],
  [
    "a form of policy",
    7,
    { on_disconnect: "keep", timeouts: { queue: DAY, total: DAY, between_tokens: DAY } },
  ],
])("a reaper acts on the rest of a policy in which a later version wrote %s", (_what, policy, expected) => {
  expect(readReapRequest(written(policy)).policy).toEqual(expected);
});

test("a job that is no event has the default policy", () => {
  expect(readReapRequest(new TextEncoder().encode("forged")).policy).toEqual({
    on_disconnect: "keep",
    timeouts: { queue, total, between_tokens },
  });
});

test("the trace of a job is that of its request; a payload that is no event has none", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const draft = { ...requested(createRef()), traceparent } as Parameters<typeof encodeEvent>[1];
  expect(readReapRequest(encodeEvent(asSeq(0), draft)).traceparent).toBe(traceparent);
  expect(readReapRequest(encodeEvent(asSeq(0), requested(createRef()))).traceparent).toBeUndefined();
  expect(readReapRequest(new TextEncoder().encode("{")).traceparent).toBeUndefined();
});

test("a job waits for its summary and for the turns before it, as far as this version can read them", () => {
  const [{ generation: first }, { generation: second }] = [createRef(), createRef()];
  const conversation = parseConversationId(`conv_${"0".repeat(26)}`);
  const waitsFor = (context: object) => {
    const draft = { ...requested(createRef()), context: { conversation, turn: 2, ...context } };
    return readReapRequest(encodeEvent(asSeq(0), draft)).waitsFor;
  };
  const summary = { generation: first, turns: 1, bytes: 1 };
  expect(waitsFor({})).toEqual([]);
  expect(waitsFor({ summary })).toEqual([first]);
  expect(waitsFor({ summary, waits_for: [second] })).toEqual([first, second]);
  expect(waitsFor({ summary: "none", waits_for: [second] })).toEqual([second]);
  expect(waitsFor({ summary, waits_for: "all" })).toEqual([first]);
});
