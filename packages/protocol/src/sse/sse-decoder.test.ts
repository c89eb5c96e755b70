import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSseDecoder, type SseMessage } from "./sse-decoder.ts";
import { anyText, bytesOf, cutAt, decodeAll } from "./sse.fixture.ts";

const STREAM =
  '\ufeffid: 1\r\ndata: {"é":"🙂"}\r\n\r\n: ping\ndata: a\rdata:  b\r\revent: error\nid:\ndata\n\nretry: 250\n\nid: lost\ndata: cut off';
const MESSAGES: SseMessage[] = [
  { id: "1", event: "message", data: '{"é":"🙂"}' },
  { id: "1", event: "message", data: "a\n b" },
  { id: "", event: "error", data: "" },
];

describe("the SSE decoder", () => {
  it("reads the same messages wherever the bytes are cut in two", () => {
    const bytes = bytesOf(STREAM);
    for (let at = 0; at <= bytes.length; at++)
      expect(decodeAll(cutAt(bytes, [at])), `cut at byte ${at}`).toEqual(MESSAGES);
  });

  it("reads the same messages byte by byte, with empty chunks between", () => {
    const chunks = [...bytesOf(STREAM)].flatMap((byte) => [Uint8Array.of(byte), new Uint8Array()]);
    expect(decodeAll(chunks)).toEqual(MESSAGES);
  });

  it("reads the same messages from LF, CR and CRLF streams cut at random", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            id: fc.stringMatching(/^[0-9]{1,4}$/),
            lines: fc.array(anyText, { minLength: 1, maxLength: 3 }),
          }),
        ),
        fc.constantFrom("\n", "\r", "\r\n"),
        fc.array(fc.nat()),
        (sent, end, cuts) => {
          const text = sent
            .map(({ id, lines }) => [`id: ${id}`, ...lines.map((line) => `data: ${line}`), "", ""].join(end))
            .join("");
          const expected = sent.map(({ id, lines }) => ({ id, event: "message", data: lines.join("\n") }));
          const bytes = bytesOf(text);
          expect(decodeAll(cutAt(bytes, cuts))).toEqual(expected);
        },
      ),
    );
  });

  it("delivers a message with the chunk that completes it, not later", () => {
    const decoder = createSseDecoder();
    expect(decoder.push(bytesOf("data: a\n"))).toEqual([]);
    expect(decoder.push(bytesOf("\r"))).toEqual([{ id: "", event: "message", data: "a" }]);
    expect(decoder.push(bytesOf("\ndata: b\n\n"))).toEqual([{ id: "", event: "message", data: "b" }]);
  });

  it("drops one BOM at the start and keeps any other", () => {
    expect(decodeAll([bytesOf("\ufeffdata: \ufeffa\n\n\ufeffdata: b\n\ndata: c\n\n")])).toEqual([
      { id: "", event: "message", data: "\ufeffa" },
      { id: "", event: "message", data: "c" },
    ]);
  });

  it("keeps the id until another one comes, lets an empty one reset it and ignores one with NUL", () => {
    const ids = decodeAll([bytesOf("id: 7\n\ndata: a\n\nid: 8\0\ndata: b\n\nid\ndata: c\n\n")]).map(
      ({ id }) => id,
    );
    expect(ids).toEqual(["7", "7", ""]);
  });

  it("forgets the event name of a block without data", () => {
    expect(decodeAll([bytesOf("event: error\n\ndata: a\n\n")])).toEqual([
      { id: "", event: "message", data: "a" },
    ]);
  });

  it.each([
    ["250", 250],
    ["0", 0],
    ["99999999999999999999", 2_147_483_647],
    ["-1", undefined],
    ["1.5", undefined],
    ["", undefined],
    ["1s", undefined],
  ])("reads retry: %j as %s ms", (value, retryMs) => {
    const decoder = createSseDecoder();
    decoder.push(bytesOf(`retry: ${value}\n`));
    expect(decoder.retryMs).toBe(retryMs);
  });

  it("refuses an unfinished message that outgrows its limit, in one line or in many", () => {
    const tooLong = expect.objectContaining({
      code: "protocol_violation",
      message: "An SSE message is longer than 10 characters.",
    });
    const oneLine = createSseDecoder({ maxMessageLength: 10 });
    expect(oneLine.push(bytesOf("data: 7890"))).toEqual([]);
    expect(() => oneLine.push(bytesOf("1"))).toThrow(tooLong);
    const manyLines = createSseDecoder({ maxMessageLength: 10 });
    expect(() => manyLines.push(bytesOf("data: 1234\ndata: 1234\ndata: 1\n"))).toThrow(tooLong);
  });

  it("measures each message by itself", () => {
    const decoder = createSseDecoder({ maxMessageLength: 10 });
    const received = Array.from({ length: 20 }, () => decoder.push(bytesOf("data: 12\n\n")));
    expect(received.flat()).toHaveLength(20);
  });

  it("never throws on arbitrary bytes", () => {
    fc.assert(fc.property(fc.array(fc.uint8Array()), (chunks) => void decodeAll(chunks)));
  });

  it("joins one line that comes in a hundred thousand pieces", () => {
    const piece = bytesOf("0123456789abcdef".repeat(8));
    const decoder = createSseDecoder();
    decoder.push(bytesOf("data:"));
    for (let i = 0; i < 100_000; i++) decoder.push(piece);
    expect(decoder.push(bytesOf("\n\n"))[0]?.data.length).toBe(12_800_000);
  });
});
