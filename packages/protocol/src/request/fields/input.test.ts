import { describe, expect, it } from "vitest";
import { parseGenerationRequest } from "../request.ts";
import { parseDataUrl } from "./content-part.ts";
import { textsOf } from "./input.ts";
import { LIMITS } from "./limits.ts";

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const BLOB = `blob_${"0".repeat(26)}`;
const WAV = "data:audio/wav;base64,UklGRg==";
const PDF = "data:application/pdf;base64,JVBERi0=";
const CALL = { call_id: "c1", name: "look_up", arguments: "{}" };
const ASKED = { role: "assistant", tool_calls: [CALL] };

const user = (...content: unknown[]) => ({ role: "user", content });
const parse = (...input: unknown[]) => parseGenerationRequest({ model: "sim", input });

describe("an input of messages", () => {
  it.each([
    [{ role: "system", content: [{ type: "text", text: "Be brief." }] }],
    [user({ type: "text", text: "" }, { type: "image", url: PNG, detail: "low" })],
    [user({ type: "audio", url: WAV }, { type: "file", url: PDF, name: "a.pdf" })],
    [user({ type: "image", url: "https://example.com/a.png" }, { type: "file", blob: BLOB })],
    [{ role: "assistant", content: [{ type: "refusal", refusal: "No." }], reasoning: "Hm." }],
    [{ role: "assistant", content: "Yes.", reasoning: [{ encrypted: "x", id: "r1", summary: ["s"] }] }],
    [ASKED, { role: "tool", call_id: "c1", output: null }],
    [{ role: "assistant", reasoning: "Hm.", tool_calls: [{ ...CALL, provider_state: { a: { b: "c" } } }] }],
    [{ role: "assistant", tool_calls: [{ ...CALL, provider_state: { a: "x".repeat(65_528) } }] }],
    [ASKED, { role: "tool", call_id: "c1", content: [{ type: "image", url: PNG }] }],
  ])("is taken as it is: %j", (...input) => {
    expect(parse(...input).input).toEqual(input);
  });

  it.each([
    ["input.0.role", { role: "robot", content: "x" }],
    [
      "input.0.tool_calls.0.provider_state",
      { role: "assistant", tool_calls: [{ ...CALL, provider_state: "x" }] },
    ],
    [
      "input.0.tool_calls.0.provider_state",
      { role: "assistant", tool_calls: [{ ...CALL, provider_state: { a: "x".repeat(65_529) } }] },
    ],
    ["input.0.content", user()],
    ["input.0.content.1.type", user({ type: "text", text: "x" }, { type: "video", url: PNG })],
    ["input.0.content.0.text", user({ type: "text", text: 7 })],
    ["input.0.content.0.detail", user({ type: "image", url: PNG, detail: "most" })],
    ["input.0.content.0.url", user({ type: "image", url: "http://example.com/a.png" })],
    ["input.0.content.0.url", user({ type: "image", url: "data:image/png,raw" })],
    ["input.0.content.0.url", user({ type: "image", url: "data:image/png;base64,iVB" })],
    ["input.0.content.0.url", user({ type: "image", url: "file:///etc/passwd" })],
    ["input.0.content.0.blob", user({ type: "file", blob: "../x" })],
    ["input.0.content.0", user({ type: "image", url: WAV })],
    ["input.0.content.0", user({ type: "image", url: PNG, blob: BLOB })],
    ["input.0.content.0", user({ type: "audio" })],
    ["input.0.content.0.type", { role: "system", content: [{ type: "image", url: PNG }] }],
    ["input.0.content.0.type", { role: "assistant", content: [{ type: "image", url: PNG }] }],
    ["input.0.name", { role: "user", content: "x", name: "y" }],
    ["input.0", { role: "assistant" }],
    ["input.0.reasoning", { role: "assistant", content: "x", reasoning: 7 }],
    ["input.0.tool_calls.0.name", { role: "assistant", tool_calls: [{ ...CALL, name: "a.b" }] }],
    ["input.0.call_id", { role: "tool", call_id: "c1", output: 1 }],
  ])("with something wrong is refused by its place: %s", (param, message) => {
    expect(() => parse(message)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });

  it.each([
    ["input.1.tool_calls.0.call_id", [ASKED, ASKED]],
    ["input.1", [ASKED, { role: "tool", call_id: "c1" }]],
    [
      "input.2.call_id",
      [ASKED, { role: "tool", call_id: "c1", output: 1 }, { role: "tool", call_id: "c1", output: 1 }],
    ],
  ])("in which calls and answers do not fit is refused by the place: %s", (param, input) => {
    expect(() => parse(...input)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });

  it("at the limit of parts is taken, beyond it refused", () => {
    const half = Array.from({ length: LIMITS.parts / 2 }, () => ({ type: "text", text: "x" }));
    expect(parse(user(...half), user(...half)).input).toHaveLength(2);
    expect(() => parse(user(...half), user(...half), user({ type: "text", text: "x" }))).toThrow(
      expect.objectContaining({
        param: "input",
        message: expect.stringContaining(`${LIMITS.parts} content parts`),
      }),
    );
  });
});

describe("the texts of a message", () => {
  it("are what a person may read of it, in order, without media", () => {
    const input = [
      user({ type: "text", text: "a" }, { type: "image", url: PNG }, { type: "text", text: "b" }),
      {
        ...ASKED,
        content: [{ type: "refusal", refusal: "c" }],
        reasoning: [{ text: "d" }, { encrypted: "e" }],
      },
      { role: "tool", call_id: "c1", output: { n: 1 } },
    ];
    const messages = parse(...input).input as Exclude<ReturnType<typeof parse>["input"], string>;
    expect(messages.map(textsOf)).toEqual([["a", "b"], ["d", "c", "look_up", "{}"], ['{"n":1}']]);
  });
});

it("a data URL is its media type and its bytes; another URL is none", () => {
  expect(parseDataUrl(PNG)).toEqual({ mediaType: "image/png", base64: "iVBORw0KGgo=" });
  expect(parseDataUrl("https://example.com/;base64,")).toBeUndefined();
});
