import { describe, expect, test } from "vitest";
import type { EngineRequest, Progress } from "../engine.ts";
import { quoteUpstream } from "./quote-upstream.ts";
import { requestTexts } from "./request-texts.ts";

const REQUEST: EngineRequest = {
  model: "public",
  input: [
    { role: "system", content: "You are a lighthouse." },
    { role: "user", content: "Who keeps you?" },
  ],
  stop: ["the end of it all"],
  options: { user: "someone@example.org" },
  metadata: { ticket: "A-1234" },
  tools: [
    {
      name: "find_keeper",
      description: "Looks into the book of the northern rocks.",
      parameters: {
        type: "object",
        properties: {
          rock: { type: "string", description: "As in the admiral's list.", enum: ["Utsira", "Ryvarden"] },
        },
        required: ["rock"],
      },
    },
  ],
};
const PROGRESS: Progress = {
  turns: [
    { type: "text", text: "Let me look it up.", tokens: 5 },
    { type: "tool_call", call_id: "call_1", name: "find_keeper", arguments: '{"rock":"Slettringen"}' },
    { type: "tool_result", call_id: "call_1", output: { keeper: "Ødegård", pin: 90_210, boats: ["Havørn"] } },
  ],
  prefix: { text: "Her keeper is", tokens: 3 },
};

const quote = (message: string) =>
  quoteUpstream({ error: { message } }, { key: undefined, texts: requestTexts(REQUEST, PROGRESS) });

describe("an upstream's message", () => {
  test.each([
    "You are a lighthouse.",
    "Who keeps you?",
    "the end of it all",
    "someone@example.org",
    "A-1234",
    "the book of the northern rocks",
    "As in the admiral's list.",
    "Ryvarden",
    "Let me look it up.",
    '{"rock":"Slettringen"}',
    "Slettringen",
    '{"keeper":"Ødegård","pin":90210,',
    "Ødegård",
    "90210",
    "Havørn",
    "Her keeper is",
  ])("that repeats %j is withheld", (text) => {
    expect(quote(`can't read: ${text}`)).toBe("(its message repeats the request and is withheld)");
  });

  test.each([
    "tools[0].function.parameters must be an object",
    "find_keeper is not a valid function name",
    "no tool call with the id call_1",
    "expected a string for rock",
    "messages with the role tool are not supported",
  ])("is passed on: %s", (message) => {
    expect(quote(message)).toBe(message);
  });
});
