import { parseGenerationRequest } from "@reprise/protocol";
import { GEN_AI } from "@reprise/runtime/telemetry";
import { expect, test } from "vitest";
import { TurnContent } from "./turn-content.ts";

test("of what was asked a span has the texts, and of media no more than what they are", () => {
  const input = [
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", url: "data:image/png;base64,c2VjcmV0" },
      ],
    },
    {
      role: "assistant",
      content: "A log.",
      tool_calls: [{ call_id: "c", name: "look_up", arguments: "{}" }],
    },
  ];
  const attributes = TurnContent.ofRequest(parseGenerationRequest({ model: "m", input }));
  expect(JSON.parse(String(attributes[GEN_AI.inputMessages]))).toEqual([
    {
      role: "user",
      parts: [
        { type: "text", content: "What is this?" },
        { type: "blob", modality: "image" },
      ],
    },
    {
      role: "assistant",
      parts: [
        { type: "text", content: "A log." },
        { type: "text", content: "look_up" },
        { type: "text", content: "{}" },
      ],
    },
  ]);
});
