import { asSeq } from "../seq.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCursor } from "../event/cursor.ts";
import { encodeEvent } from "../event/event-codec.ts";
import { RepriseError, toErrorBody } from "../errors/reprise-error.ts";
import { createSseDecoder } from "./sse-decoder.ts";
import { encodeSseError, encodeSseFrame, encodeSseRetry, SSE_HEARTBEAT } from "./sse-frame.ts";
import { bytesOf, cutAt, decodeAll } from "./sse.fixture.ts";

const anyEventText = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\r", "\n", "\r\n", "\n\n", "\0", "\u2028", "\ud83d", "🙂", "é", '"', "\\"),
    fc.string({ unit: "binary", maxLength: 1 }),
  ),
});

describe("an event framed for SSE", () => {
  it("arrives as the bytes that were stored, under its cursor, wherever the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(anyEventText, { maxLength: 8 }),
        fc.array(fc.nat()),
        fc.array(fc.boolean()),
        (texts, cuts, beats) => {
          const sent = texts.map((text, i) => {
            const payload = new TextDecoder().decode(
              encodeEvent(asSeq(i + 1), { type: "output.delta", text }),
            );
            return { id: encodeCursor({ attempt: 1, seq: asSeq(i + 1) }), event: "message", data: payload };
          });
          const frames = sent.map(
            ({ id, data }, i) => (beats[i] ? SSE_HEARTBEAT : "") + encodeSseFrame(id, data),
          );
          expect(decodeAll(cutAt(bytesOf(frames.join("")), cuts))).toEqual(sent);
        },
      ),
    );
  });

  it("takes any JSON on one line", () => {
    fc.assert(
      fc.property(fc.json(), (payload) => {
        expect(decodeAll([bytesOf(encodeSseFrame("1-1", JSON.stringify(JSON.parse(payload))))])).toHaveLength(
          1,
        );
      }),
    );
  });
});

describe("what is not an event", () => {
  it("is silent when it is a heartbeat, alone or in a row", () => {
    const stream =
      SSE_HEARTBEAT +
      encodeSseFrame("1-1", "{}") +
      SSE_HEARTBEAT +
      SSE_HEARTBEAT +
      encodeSseFrame("1-2", "{}");
    expect(decodeAll([bytesOf(stream)]).map(({ id }) => id)).toEqual(["1-1", "1-2"]);
    expect(SSE_HEARTBEAT).toMatch(/^:[^\r\n]*\n$/);
  });

  it("sets the delay before a reconnect without a message of its own", () => {
    const decoder = createSseDecoder();
    expect(decoder.push(bytesOf(encodeSseRetry(1_234.5) + encodeSseFrame("1-1", "{}")))).toHaveLength(1);
    expect(decoder.retryMs).toBe(1_235);
    expect(decoder.push(bytesOf(encodeSseRetry(10)))).toEqual([]);
    expect(decoder.retryMs).toBe(10);
  });

  it("moves no reader's cursor when it is an error", () => {
    const body = JSON.stringify(toErrorBody(new RepriseError("broker_unavailable", "line one\nline two")));
    const messages = decodeAll([bytesOf(encodeSseFrame("1-1", "{}") + encodeSseError(body))]);
    expect(messages[1]).toEqual({ id: "1-1", event: "error", data: body });
  });
});
