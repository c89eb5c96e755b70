import { readFile } from "node:fs/promises";
import { RunAgentInputSchema } from "@ag-ui/core/schemas";
import { describe, expect, it } from "vitest";
import { parseRunInput, type ParseOptions } from "./parse-request.ts";

const OPTIONS: ParseOptions = { model: "sim", keepsReasoning: () => true };
const BASE = {
  threadId: "t1",
  runId: "r1",
  state: {},
  messages: [{ id: "u1", role: "user", content: "Hi" }],
  tools: [],
  context: [],
  forwardedProps: {},
};
const parse = (fields: object, options: Partial<ParseOptions> = {}) =>
  parseRunInput({ ...BASE, ...fields }, { ...OPTIONS, ...options }).request;
const message = (fields: object) => parse({ messages: [{ id: "m1", ...fields }] }).input;
const refusal = (fields: object, options?: Partial<ParseOptions>) => {
  try {
    parse(fields, options);
  } catch (error) {
    return (error as { param?: string }).param;
  }
  return undefined;
};

describe("a run's input", () => {
  it("is a request for the URL's model whose metadata has the names of the run", () => {
    expect(parse({})).toEqual({
      model: "sim",
      input: [{ role: "user", content: "Hi" }],
      metadata: { "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" },
    });
  });

  it("has native fields in forwardedProps, which go before the URL", () => {
    const props = { model: "other", temperature: 0.5, metadata: { team: "a" } };
    expect(parse({ forwardedProps: props })).toMatchObject({
      model: "other",
      temperature: 0.5,
      metadata: { team: "a", "ag_ui.run_id": "r1" },
    });
  });

  it("has its context as instructions before all messages", () => {
    const context = [
      { description: "The user's city", value: "Ulm" },
      { description: "Units", value: "metric" },
    ];
    expect(parse({ context }).input).toEqual([
      { role: "system", content: "The user's city: Ulm\nUnits: metric" },
      { role: "user", content: "Hi" },
    ]);
  });

  it("has functions, whose calls end the run", () => {
    const tools = [{ name: "look_up", description: "Looks it up.", parameters: { type: "object" } }];
    expect(parse({ tools })).toMatchObject({ tools, tool_calls: "end" });
  });
});

describe("a message", () => {
  it("of a user may have parts", () => {
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image", source: { type: "data", value: "AAAA", mimeType: "image/png" } },
      { type: "audio", source: { type: "url", value: "https://example.com/a.mp3" } },
      { type: "document", source: { type: "file", value: `blob_${"0".repeat(26)}` } },
    ];
    expect(message({ role: "user", content })).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image", url: "data:image/png;base64,AAAA" },
          { type: "audio", url: "https://example.com/a.mp3" },
          { type: "file", blob: `blob_${"0".repeat(26)}` },
        ],
      },
    ]);
  });

  const HISTORY = [
    { id: "r", role: "reasoning", content: "Hm.", encryptedValue: '{"encrypted":"c2U=","id":"rs_1"}' },
    {
      id: "a",
      role: "assistant",
      toolCalls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } }],
    },
    { id: "t", role: "tool", toolCallId: "c1", content: "", error: "Not found" },
    { id: "e", role: "assistant", content: "" },
    { id: "x", role: "activity", activityType: "plan", content: {} },
  ];

  it("of the assistant has the reasoning before it and its calls; what says nothing is left out", () => {
    expect(parse({ messages: HISTORY }).input).toEqual([
      {
        role: "assistant",
        reasoning: [{ text: "Hm." }, { encrypted: "c2U=", id: "rs_1" }],
        tool_calls: [{ call_id: "c1", name: "look_up", arguments: "{}" }],
      },
      { role: "tool", call_id: "c1", output: "Not found" },
    ]);
  });

  it("has no reasoning for a model that takes none", () => {
    const { input } = parse({ messages: HISTORY }, { keepsReasoning: () => false });
    expect(JSON.stringify(input)).not.toContain("reasoning");
  });
});

describe("what can't be honoured is refused by the name that the client knows", () => {
  it.each([
    [{ forwardedProps: { frobnicate: 1 } }, "forwardedProps.frobnicate"],
    [{ forwardedProps: { temperature: 9 } }, "forwardedProps.temperature"],
    [{ forwardedProps: { conversation: "c" } }, "forwardedProps.conversation"],
    [{ forwardedProps: { tool_calls: "wait" } }, "forwardedProps.tool_calls"],
    [{ forwardedProps: { metadata: "a" } }, "forwardedProps.metadata"],
    [{ state: { counter: 1 } }, "state"],
    [{ resume: [{ interruptId: "i", status: "resolved" }] }, "resume"],
    [{ nope: 1 }, "nope"],
    [{ threadId: "" }, "threadId"],
    [{ tools: [{ name: "a b", description: "" }] }, "tools.0.name"],
    [
      {
        context: [{ description: "a", value: "b" }],
        messages: [{ id: "t", role: "tool", toolCallId: "c9", content: "" }],
      },
      "messages.0.call_id",
    ],
    [
      {
        messages: [
          { id: "u", role: "user", content: [{ type: "image", source: { type: "file", value: "file-1" } }] },
        ],
      },
      "messages.0.content.0.source.value",
    ],
    [
      {
        messages: [
          {
            id: "u",
            role: "user",
            content: [{ type: "video", source: { type: "url", value: "https://a.b/" } }],
          },
        ],
      },
      "messages.0.content.0.type",
    ],
  ])("%j", (fields, param) => expect(refusal(fields)).toBe(param));

  it("a run without a model", () => expect(refusal({}, { model: undefined })).toBe("forwardedProps.model"));
});

describe("the table of fields", async () => {
  const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
  const rows = [...readme.matchAll(/^\| `([A-Za-z]+)` \| (honoured|ignored|refused) \|/gm)].map(
    ([, field, verdict]) => [field!, verdict!] as const,
  );
  const SAMPLES: Readonly<Record<string, unknown>> = {
    threadId: "t2",
    runId: "r2",
    protocolVersion: "1.0.0",
    parentRunId: "r0",
    state: { counter: 1 },
    messages: [{ id: "u2", role: "user", content: "Hello" }],
    tools: [{ name: "look_up", description: "" }],
    context: [{ description: "a", value: "b" }],
    forwardedProps: { seed: 1 },
    resume: [{ interruptId: "i", status: "resolved" }],
  };

  it("lists each field of RunAgentInput once", () => {
    expect(rows.map(([field]) => field)).toEqual(Object.keys(RunAgentInputSchema.shape));
  });

  it.each(rows)("tells what the parser does: %s is %s", (field, verdict) => {
    const sample = { [field]: SAMPLES[field] };
    const isRefused = refusal(sample) === field;
    const isIgnored = !isRefused && JSON.stringify(parse(sample)) === JSON.stringify(parse({}));
    expect(isRefused ? "refused" : isIgnored ? "ignored" : "honoured").toBe(verdict);
  });
});
