import type { LanguageModelV4FilePart, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { toInput } from "./to-input.ts";

const file = (part: Omit<LanguageModelV4FilePart, "type">): LanguageModelV4Prompt => [
  { role: "user", content: [{ type: "file", ...part }] },
];
const refused = (message: string) =>
  expect.objectContaining({ code: "invalid_request", param: "prompt.0", message });

describe("a file", () => {
  it.each<[Omit<LanguageModelV4FilePart, "type">, object]>([
    [
      { mediaType: "image/PNG", data: { type: "data", data: Uint8Array.of(0x89, 0x50) } },
      { type: "image", url: "data:image/png;base64,iVA=" },
    ],
    [
      { mediaType: "audio/wav", data: { type: "data", data: "AAAA" } },
      { type: "audio", url: "data:audio/wav;base64,AAAA" },
    ],
    [
      {
        mediaType: "application/pdf",
        filename: "a.pdf",
        data: { type: "url", url: new URL("https://a.example/b") },
      },
      { type: "file", url: "https://a.example/b", name: "a.pdf" },
    ],
    [
      { mediaType: "text", data: { type: "text", text: "Hi" } },
      { type: "file", url: "data:text/plain;base64,SGk=" },
    ],
    [
      { mediaType: "image", data: { type: "reference", reference: { reprise: "blob_1", other: "file_1" } } },
      { type: "image", blob: "blob_1" },
    ],
  ])("%j is %j", (part, content) => {
    expect(toInput(file(part))).toEqual([{ role: "user", content: [content] }]);
  });

  it("of bytes whose type is not known whole is refused, as no data URL can be made of it", () => {
    for (const mediaType of ["audio", "audio/*"])
      expect(() => toInput(file({ mediaType, data: { type: "data", data: "AAAA" } }))).toThrow(
        refused(`prompt.0: bytes need a media type like image/png, got ${mediaType}.`),
      );
  });

  it("that another provider has is refused", () => {
    const data = { type: "reference", reference: { other: "file_1" } } as const;
    expect(() => toInput(file({ mediaType: "image/png", data }))).toThrow(
      refused("prompt.0: a reference must have a blob's id as reprise."),
    );
  });
});

describe("a turn of the assistant", () => {
  it("has its texts as one, its calls, and its reasoning sealed where it is, with their answers after it", () => {
    const sealed = { reprise: { encrypted: "xyz", id: "rs_1" } };
    expect(
      toInput([
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", providerOptions: sealed },
            { type: "reasoning", text: "so" },
            { type: "reasoning", text: "" },
            { type: "text", text: "Hel" },
            { type: "text", text: "lo" },
            { type: "tool-call", toolCallId: "c1", toolName: "look_up", input: { word: "log" } },
            { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
          ],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "c1",
              toolName: "look_up",
              output: { type: "json", value: { found: true } },
            },
          ],
        },
      ]),
    ).toEqual([
      {
        role: "assistant",
        content: "Hello",
        reasoning: [{ encrypted: "xyz", id: "rs_1" }, { text: "so" }],
        tool_calls: [{ call_id: "c1", name: "look_up", arguments: '{"word":"log"}' }],
      },
      { role: "tool", call_id: "c1", output: { found: true } },
    ]);
  });

  it("has a summary of its reasoning with the sealed form that it is of, and nowhere else", () => {
    const reasoned = (text: string, reprise: Record<string, string | boolean>) =>
      ({ type: "reasoning", text, providerOptions: { reprise } }) as const;
    const text = { type: "text", text: "Hi" } as const;
    const turn = (...content: Extract<LanguageModelV4Prompt[number], { role: "assistant" }>["content"]) =>
      toInput([{ role: "assistant", content: [...content, text] }]);
    const first = reasoned("One.", { summary: true });
    expect(turn(first)).toEqual([{ role: "assistant", content: "Hi" }]);
    expect(turn(first, reasoned("Two.", { summary: true, encrypted: "xyz" }))).toEqual([
      {
        role: "assistant",
        content: "Hi",
        reasoning: [{ encrypted: "xyz", summary: ["One.", "Two."] }],
      },
    ]);
  });

  it("that is nothing of what a request can say is left out", () => {
    expect(toInput([{ role: "assistant", content: [{ type: "reasoning", text: "hm" }] }])).toEqual([]);
  });
});

describe("a tool's answer", () => {
  const answer = (output: object) =>
    toInput([
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c1", toolName: "look_up", output: output as never }],
      },
    ])[0];

  it.each([
    [{ type: "text", value: "7" }, { output: "7" }],
    [{ type: "error-text", value: "gone" }, { output: "gone" }],
    [{ type: "error-json", value: { code: 7 } }, { output: { code: 7 } }],
    [{ type: "execution-denied", reason: "Not now." }, { output: "Not now." }],
    [{ type: "execution-denied" }, { output: "The call was denied." }],
    [
      {
        type: "content",
        value: [
          { type: "text", text: "7" },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
        ],
      },
      {
        content: [
          { type: "text", text: "7" },
          { type: "image", url: "data:image/png;base64,AAAA" },
        ],
      },
    ],
  ])("%j is %j", (output, said) => {
    expect(answer(output)).toEqual({ role: "tool", call_id: "c1", ...said });
  });

  it("of another provider's parts is refused", () => {
    expect(() => answer({ type: "content", value: [{ type: "custom" }] })).toThrow(
      refused("prompt.0: a tool's answer has no part of the type custom."),
    );
  });
});
