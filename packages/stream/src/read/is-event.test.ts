import { asSeq, encodeEvent, type EventDraft } from "@reprise/protocol";
import { completed, delta, redacted, started } from "@reprise/testkit";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { isEventAt } from "./is-event.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const prefix = '{"seq":3,"type":"output.delta","text":"';

test.each([
  delta("Hi"),
  delta('"\\\n\u0007 é 🙂'),
  { ...delta("x"), tokens: 40 },
  { ...delta("x"), logprobs: [{ token: "x", logprob: -0.1, top: [{ token: "y", logprob: -3 }] }] },
  { type: "reasoning.delta", text: "x" } as const,
  started(),
  completed(),
  redacted(1),
])("%j is an event at its place, and at no other", (draft) => {
  expect(isEventAt(asSeq(3), encodeEvent(asSeq(3), draft))).toBe(true);
  expect(isEventAt(asSeq(4), encodeEvent(asSeq(3), draft))).toBe(false);
});

test.each([
  { type: "output.delta", text: "Hi" },
  { type: "output.delta", text: "Hi", tokens: 40 },
  { type: "reasoning.delta", text: "Hm.", tokens: 2 },
  { type: "refusal.delta", text: "No." },
  { type: "reasoning.summary.delta", text: "Thinks.", part: 1, tokens: 3 },
  { type: "reasoning.summary.delta", text: "Thinks.", part: 0, tokens: 0 },
  { type: "reasoning.summary.delta", text: "Thinks.", tokens: 1 },
] satisfies EventDraft[])(
  "%j is scanned and not parsed: each delivery node takes every token of its generations",
  (draft) => {
    const payload = encodeEvent(asSeq(3), draft);
    const parse = vi.spyOn(JSON, "parse");
    try {
      expect(isEventAt(asSeq(3), payload)).toBe(true);
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  },
);

test("an event of a later version's type is one", () => {
  expect(isEventAt(asSeq(3), bytes('{"seq":3,"type":"output.image","url":"x"}'))).toBe(true);
});

test.each([
  '{"seq":3,"type":"generation.started","attempt":2,"worker":"w","model":"m","reason":"engine_moved","zone":"b"}',
  '{"seq":3,"type":"attempt.ended","attempt":1,"reason":"engine_moved"}',
  '{"seq":3,"type":"generation.completed","finish_reason":"refusal","usage":{"input_tokens":1,"output_tokens":1,"cached":1}}',
  '{"seq":3,"type":"moderation.reviewed","review_id":"r","decision":"escalate","reviewer":"p"}',
  '{"seq":3,"type":"moderation.unavailable","answer":"fail_slow","judged_seq":2}',
])("%s, with what a later version adds, is one", (text) => {
  expect(isEventAt(asSeq(3), bytes(text))).toBe(true);
});

test.each(["", "Two words", "a\u2028b", "x".repeat(65), 7, null, ["stop"]])(
  "an event with the finish reason %j is none: no version has such a name",
  (reason) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const event = { seq: 3, type: "generation.completed", finish_reason: reason, usage };
    expect(isEventAt(asSeq(3), bytes(JSON.stringify(event)))).toBe(false);
  },
);

test.each([
  "",
  "hello",
  `${prefix}x`,
  `${prefix}x"`,
  `${prefix}x"}}`,
  `${prefix}x"}\n`,
  `${prefix}a"b"}`,
  `${prefix}a\nb"}`,
  `${prefix}x","tokens":}`,
  `${prefix}x","logprobs":[{"token":"x","logprob":"-0.1"}]}`,
  `${prefix}x","tokens":-1}`,
  `${prefix}x","tokens":01}`,
  `${prefix}x","part":01}`,
  `${prefix}x","part":}`,
  `${prefix}x","tokens":1,"part":2`,
  `${prefix}x","tokens":1,}`,
  `${prefix}\\"}`,
  `${prefix}\\x"}`,
  `${prefix}\\u12"}`,
  '{"seq":3,"type":"output.delta"}',
  '{"seq":3,"type":"output.delta","text":7}',
  '{"seq":3,"type":"output.delta","text":"x","seq":4}',
  '{"seq":3,"type":"output.delta","text":"x","type":"generation.completed"}',
  '{"seq":3,"type":"generation.started","attempt":0,"worker":"w","model":"m"}',
  '{"seq":3,"type":"generation.completed"}',
  '{"type":"output.delta","seq":3,"text":"x"}',
])("%j is none", (text) => expect(isEventAt(asSeq(3), bytes(text))).toBe(false));

test("bytes that are not UTF-8 are none", () => {
  const payload = bytes(`${prefix}x"}`);
  payload[prefix.length] = 0xff;
  expect(isEventAt(asSeq(3), payload)).toBe(false);
});

test("the scan of plain deltas agrees with a parser, for any text and any changed byte", () => {
  const isDelta = (payload: Uint8Array, of: string) => {
    try {
      const { seq, type, text } = JSON.parse(
        new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload),
      ) as Record<string, unknown>;
      return seq === 3 && type === of && typeof text === "string";
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.nat(),
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom("output.delta", "reasoning.delta", "refusal.delta", "reasoning.summary.delta"),
      (text, at, byte, type) => {
        const payload = encodeEvent(asSeq(3), { type, text });
        expect(isEventAt(asSeq(3), payload)).toBe(true);
        // What comes before the text is compared byte by byte.
        const begin = `{"seq":3,"type":"${type}","text":"`.length;
        payload[begin + (at % (payload.length - begin))] = byte;
        expect(isEventAt(asSeq(3), payload)).toBe(isDelta(payload, type));
      },
    ),
    { numRuns: 2_000 },
  );
});
