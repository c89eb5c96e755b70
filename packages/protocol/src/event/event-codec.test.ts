import { asSeq } from "../seq.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyEvent, EVENT_EXAMPLES } from "./event.fixture.ts";
import { eventSchema, type EventDraft } from "./event.ts";
import { decodeEvent, encodeEvent, isTerminal, peekSeq, peekType } from "./event-codec.ts";

const text = new TextDecoder();
const bytes = new TextEncoder();

describe("an encoded event", () => {
  it.each(EVENT_EXAMPLES)("of type $type begins with its seq and its type, and is valid", (event) => {
    const payload = encodeEvent(event.seq, event);
    expect(text.decode(payload).startsWith(`{"seq":${event.seq},"type":"${event.type}",`)).toBe(true);
    expect(eventSchema.parse(decodeEvent(payload))).toEqual(event);
    expect(peekSeq(payload)).toBe(event.seq);
    expect(peekType(payload)).toBe(event.type);
  });

  it("has an example here for every type", () => {
    const known = eventSchema.options.map((option) => option.shape.type.value);
    expect(EVENT_EXAMPLES.map(({ type }) => type).toSorted()).toEqual(known.toSorted());
  });

  it("is one line that decodes to what went in, and that the peeks read alike", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const payload = encodeEvent(event.seq, event);
        const decoded = decodeEvent(payload);
        expect(decoded).toEqual(event);
        expect(text.decode(payload)).not.toMatch(/[\r\n]/);
        expect({ seq: peekSeq(payload), type: peekType(payload) }).toEqual({
          seq: decoded.seq,
          type: decoded.type,
        });
      }),
    );
  });

  it("holds no character that a client may take for the end of a line, and says the same", () => {
    const unit = fc.constantFrom("a", "\u0085", "\u2028", "\u2029", "\r", "\n", '"', "\\", "\ud83d", "🙂");
    fc.assert(
      fc.property(fc.string({ unit }), (said) => {
        const payload = encodeEvent(asSeq(1), { type: "output.delta", text: said });
        expect(text.decode(payload)).not.toMatch(/[\r\n\u0085\u2028\u2029]/);
        expect(decodeEvent(payload)).toEqual({ seq: 1, type: "output.delta", text: said });
      }),
    );
  });

  it("takes the seq that it is given, not one that the draft still has from elsewhere, and stays in order", () => {
    const draft: EventDraft = { text: "a", type: "output.delta", seq: 99 } as EventDraft;
    expect(text.decode(encodeEvent(asSeq(7), draft))).toBe('{"seq":7,"type":"output.delta","text":"a"}');
  });
});

describe("peeking", () => {
  it("reads types of later versions, of the length of a known one too", () => {
    expect(peekType(bytes.encode('{"seq":1,"type":"output.audio","x":1}'))).toBe("output.audio");
    expect(peekType(bytes.encode('{"seq":1,"type":"x"}'))).toBe("x");
  });

  it.each([
    "",
    "{",
    '{"seq":',
    '{"seq":}',
    '{"seq":,',
    '{"seq":-1,"type":"x"}',
    '{"seq":1.5,"type":"x"}',
    '{"seq":1}',
    '{ "seq":1,',
    '{"seq":1234567890123456,"type":"x"}',
    '{"type":"x","seq":1}',
  ])("finds no seq in %j", (payload) => expect(peekSeq(bytes.encode(payload))).toBe(-1));

  it.each([
    "",
    '{"seq":1',
    '{"seq":1,',
    '{"seq":1,"typ":"x"',
    '{"seq":1,"kind":"x"}',
    '{"seq":1,"type":"output.delta',
    '{"seq":1,"type":"a\\"b"}',
    '{"x":1,"type":"x"}',
  ])("finds no type in %j", (payload) => expect(peekType(bytes.encode(payload))).toBe(""));

  it("never throws on arbitrary bytes, and never gives a seq that a number can't hold", () => {
    const anyBytes = fc.oneof(
      fc.uint8Array(),
      fc
        .tuple(
          fc.constantFrom('{"seq":', '{"seq":1,"type":"', '{"seq":99999999999999999999,"type":'),
          fc.uint8Array(),
        )
        .map(([head, tail]) => Uint8Array.of(...bytes.encode(head), ...tail)),
    );
    fc.assert(
      fc.property(anyBytes, (payload) => {
        expect(Number.isSafeInteger(peekSeq(payload))).toBe(true);
        expect(typeof peekType(payload)).toBe("string");
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("decoding", () => {
  it("passes an event of an unknown type on as it is", () => {
    expect(decodeEvent('{"seq":3,"type":"later.thing","x":[1]}')).toEqual({
      seq: 3,
      type: "later.thing",
      x: [1],
    });
  });

  it.each([
    "",
    "null",
    "[]",
    "7",
    '"x"',
    "{}",
    '{"seq":1}',
    '{"type":"x"}',
    '{"seq":"1","type":"x"}',
    '{"seq":-1,"type":"x"}',
    '{"seq":1.5,"type":"x"}',
    '\ufeff{"seq":1,"type":"x"}',
  ])("refuses %j", (payload) => {
    expect(() => decodeEvent(payload)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
    expect(() => decodeEvent(bytes.encode(payload))).toThrow(
      expect.objectContaining({ code: "protocol_violation" }),
    );
  });

  it("quotes nothing of what it refuses, cause included", () => {
    const payload = `{"seq":3,"type":"output.delta","text":"secret"oops`;
    const quotes = (error: unknown) =>
      String(error).includes("secret") || (error as Error).cause !== undefined;
    expect(() => decodeEvent(payload)).toThrow(expect.toSatisfy((error) => !quotes(error)));
  });

  it("refuses bytes that are not UTF-8 rather than replacing them", () => {
    const payload = Uint8Array.of(...bytes.encode('{"seq":1,"type":"x","y":"'), 0xff, ...bytes.encode('"}'));
    expect(() => decodeEvent(payload)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
  });
});

it("only completed, failed and cancelled end a generation", () => {
  const terminal = EVENT_EXAMPLES.map(({ type }) => type).filter(isTerminal);
  expect(terminal.toSorted()).toEqual(["generation.cancelled", "generation.completed", "generation.failed"]);
});
