import { describe, expect, it } from "vitest";
import { RUN } from "../projection-laws.fixture.ts";
import { toInputItems } from "./input-list.ts";
import { parseResponsesRequest } from "./parse-request.ts";

const PNG = "data:image/png;base64,AAAA";

describe("the items that a response was asked", () => {
  it("are what was sent, with ids", () => {
    expect(toInputItems(RUN.generation, "Hi")).toEqual([
      {
        id: `in_${"0a".repeat(13)}7_0`,
        type: "message",
        role: "user",
        status: "completed",
        content: [{ type: "input_text", text: "Hi" }],
      },
    ]);
  });

  it("say again what they were made of, byte for byte", () => {
    const input = [
      { role: "system", content: "Be short." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: PNG, detail: "low" },
          { type: "input_image", file_id: `blob_${"0".repeat(26)}`, detail: "auto" },
          { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" },
          { type: "input_file", file_url: "https://example.com/a.pdf" },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
      { type: "reasoning", summary: [], encrypted_content: '{"encrypted":"x","id":"rs_9"}' },
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: "I look.", annotations: [] },
          { type: "refusal", refusal: "No." },
        ],
      },
      { type: "function_call", call_id: "a", name: "look_up", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "a",
        output: [{ type: "input_image", image_url: PNG, detail: "auto" }],
      },
    ];
    const native = (items: unknown) =>
      parseResponsesRequest({ model: "sim", input: items }).toNative(new Map());
    const request = native(input);
    expect(native(toInputItems(RUN.generation, request.input))).toEqual(request);
  });
});
