import {
  parseChatRequest,
  parseResponsesRequest,
  parseRunInput,
  parseTanstackRequest,
  parseUiRequest,
} from "@reprise/projections";
import { LIMITS, parseGenerationRequest, RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import { parseJsonBody } from "../bodies/parse-json-body.ts";

/** Slightly more elements than the longest body can hold. */
const WIDE = 333_333;
/** About as deep as a body of 30 KB nests. */
const DEEP = 15_000;

const run = { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "x" }] };
const chat = { model: "sim", messages: [{ role: "user", content: "x" }] };
const response = { model: "sim", input: "x" };
const ui = { messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "x" }] }] };
const options = { model: "sim", keepsReasoning: () => false };

const native = { parse: parseGenerationRequest, body: { model: "sim", input: "x" } };
const chats = { parse: parseChatRequest, body: chat };
const responses = {
  parse: (body: unknown) => parseResponsesRequest(body).toNative(new Map()),
  body: response,
};
const uis = {
  parse: (body: unknown) => parseUiRequest(body, { models: ["sim"], takes: () => false }),
  body: ui,
};
const agents = { parse: (body: unknown) => parseRunInput(body, options), body: run };
const tanstacks = { parse: (body: unknown) => parseTanstackRequest(body, options), body: run };

interface Route {
  readonly parse: (body: unknown) => unknown;
  readonly body: object;
}

/** Parses a body's JSON. Returns undefined if the route accepts it, or the typed error that refuses it. */
function refusalOf({ parse }: Route, json: string): RepriseError | undefined {
  try {
    parse(parseJsonBody(json));
    return undefined;
  } catch (error) {
    if (error instanceof RepriseError) return error;
    throw error;
  }
}

const user = { role: "user" };
const assistant = { role: "assistant", content: "x" };
const part = { type: "text", text: "x" };
const uiMessage = { id: "m", role: "assistant" };
const agentMessage = { ...user, id: "m" };
const tool = { name: "f", description: "d" };

/** A field, with the body's fields that have it: `DEEP` is replaced by arrays in arrays. */
const DEEP_FIELDS: readonly (readonly [string, Route, object])[] = [
  ["schema", native, { response_format: { type: "json_schema", schema: { a: "DEEP" } } }],
  ["tools", chats, { tools: [{ type: "function", function: { name: "f", parameters: { a: "DEEP" } } }] }],
  [
    "response_format",
    chats,
    { response_format: { type: "json_schema", json_schema: { name: "n", schema: { a: "DEEP" } } } },
  ],
  ["an ignored field", chats, { prediction: "DEEP" }],
  ["an ignored field", responses, { store: true, prompt_cache_key: "DEEP" }],
  ["tools", responses, { tools: [{ type: "function", name: "f", parameters: { a: "DEEP" } }] }],
  ["a message's metadata", uis, { messages: [{ ...ui.messages[0], metadata: "DEEP" }] }],
  [
    "a tool's input",
    uis,
    {
      messages: [
        ...ui.messages,
        {
          ...uiMessage,
          parts: [{ type: "tool-f", toolCallId: "c", state: "output-available", input: "DEEP", output: 1 }],
        },
      ],
    },
  ],
  ["a message's metadata", agents, { messages: [{ ...run.messages[0], metadata: "DEEP" }] }],
  ["a tool's parameters", agents, { tools: [{ ...tool, parameters: "DEEP" }] }],
  ["a message's metadata", tanstacks, { messages: [{ ...run.messages[0], metadata: "DEEP" }] }],
  ["data", tanstacks, { data: { a: "DEEP" } }],
];

test.each(DEEP_FIELDS)("%s that nests deeper than a body may is refused", (_name, route, fields) => {
  const deep = "[".repeat(DEEP) + "]".repeat(DEEP);
  const json = JSON.stringify({ ...route.body, ...fields }).replace('"DEEP"', deep);
  const error = refusalOf(route, json);
  expect(error).toMatchObject({ code: "invalid_request", message: expect.stringContaining("128 deep") });
  expect(error?.param?.split(".")[0]).toBe(Object.keys(fields).at(-1));
});

const wide = (element: unknown) => Array.from({ length: WIDE }, () => element);
const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const item = (content: unknown) => [{ role: "user", content }];

/** Arrays of elements that are all wrong, or all right: param, and the limit where the field has one. */
const WIDE_FIELDS: readonly (readonly [Route, object, string, number])[] = [
  [native, { input: wide([]) }, "input", LIMITS.messages],
  [native, { stop: wide("x") }, "stop", LIMITS.stopSequences],
  [chats, { messages: wide([]) }, "messages", LIMITS.messages],
  [chats, { messages: wide(chat.messages[0]) }, "messages", LIMITS.messages],
  [chats, { messages: [{ ...user, content: wide(part) }] }, "messages.0.content", LIMITS.parts],
  [chats, { messages: [{ role: "system", content: wide(part) }] }, "messages.0.content", LIMITS.parts],
  [chats, { messages: [{ ...assistant, content: wide(part) }] }, "messages.0.content", LIMITS.parts],
  [chats, { messages: [{ ...assistant, tool_calls: wide(call) }] }, "messages.0.tool_calls", LIMITS.tools],
  [chats, { tools: wide({}) }, "tools", LIMITS.tools],
  [chats, { stop: wide([]) }, "stop", LIMITS.stopSequences],
  [responses, { input: wide([]) }, "input", LIMITS.messages],
  [responses, { input: item(wide({ type: "input_text", text: "x" })) }, "input.0.content", LIMITS.parts],
  [responses, { input: [{ type: "reasoning", summary: wide([]) }] }, "input.0.summary", LIMITS.parts],
  [responses, { tools: wide([]) }, "tools", LIMITS.tools],
  [
    responses,
    { tool_choice: { type: "allowed_tools", mode: "auto", tools: wide([]) } },
    "tool_choice.tools",
    LIMITS.tools,
  ],
  [responses, { stop: wide([]) }, "stop", LIMITS.stopSequences],
  [uis, { messages: wide([]) }, "messages", 4_096],
  [uis, { messages: [{ ...uiMessage, parts: wide({}) }] }, "messages.0.parts", 8_192],
  [
    uis,
    { messages: [{ ...uiMessage, parts: [{ type: "steering-message", parts: wide({}) }] }] },
    "messages.0.parts.0.parts",
    8_192,
  ],
  [agents, { messages: wide([]) }, "messages", 4_096],
  [agents, { messages: [{ ...agentMessage, content: wide(part) }] }, "messages.0.content", LIMITS.parts],
  [
    agents,
    { messages: [{ ...assistant, id: "m", toolCalls: wide({}) }] },
    "messages.0.toolCalls",
    LIMITS.tools,
  ],
  [agents, { tools: wide([]) }, "tools", LIMITS.tools],
  [agents, { context: wide([]) }, "context", 1_024],
  [tanstacks, { messages: wide([]) }, "messages", 4_096],
];

test.each(WIDE_FIELDS.map((row, i) => [i, row[2], row] as const))(
  "an array with more elements than its field takes is refused by name and limit (%i: %s)",
  (_i, _name, [route, fields, param, limit]) => {
    const error = refusalOf(route, JSON.stringify({ ...route.body, ...fields }));
    expect(error).toMatchObject({ code: "invalid_request", param });
    expect(error?.message).toMatch(new RegExp(`\\b${limit}\\b`));
  },
);

/** Elements of these are wrong, and one of them is told of. */
test.each([
  [native, { input: [{ ...user, content: wide({}) }] }, "input.0.content.0.type"],
  [native, { input: [{ ...assistant, reasoning: wide({}) }] }, "input.0.reasoning.0.text"],
  [responses, { include: wide([]) }, "include.0"],
  [
    responses,
    { tools: [{ type: "function", name: "f", parameters: {}, allowed_callers: wide([]) }] },
    "tools.0.allowed_callers.0",
  ],
] as const)(
  "of elements that are all wrong the first is told, however many there are (%#)",
  (route, fields, param) => {
    expect(refusalOf(route, JSON.stringify({ ...route.body, ...fields }))).toMatchObject({
      code: "invalid_request",
      param,
    });
  },
);
