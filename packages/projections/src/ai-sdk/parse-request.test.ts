import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MESSAGE_ID_METADATA, parseUiRequest, type UiModels } from "./parse-request.ts";
import { chatBodySchema } from "./request-schema.ts";

const ALL: UiModels = { models: ["sim"], takes: () => true };
const user = (...parts: object[]) => ({ id: "u1", role: "user", parts });
const said = (text: string) => ({ type: "text", text });
const assistant = (...parts: object[]) => ({ id: "a1", role: "assistant", parts });
const ASKED = user(said("Hi"));
const BLOB = `blob_${"0".repeat(26)}`;

function requestOf(body: object, models = ALL) {
  return parseUiRequest({ messages: [ASKED], ...body }, models).request;
}
const inputOf = (...messages: object[]) => requestOf({ messages }).input;

describe("what useChat sends", () => {
  it("is a request of the only model", () => {
    const body = { id: "chat-1", messages: [ASKED], trigger: "submit-message", messageId: undefined };
    expect(parseUiRequest(body, ALL)).toMatchObject({
      request: { model: "sim", input: [{ role: "user", content: "Hi" }] },
      chat: "chat-1",
      isRegeneration: false,
      messageId: undefined,
    });
  });

  it("is refused without a model where there are several", () => {
    const several = { ...ALL, models: ["a", "b"] };
    expect(() => requestOf({}, several)).toThrow(expect.objectContaining({ param: "model" }));
    expect(requestOf({ model: "b" }, several).model).toBe("b");
  });

  it("continues with the assistant's message where that is the last, and says so in the metadata", () => {
    const tool = { type: "tool-look_up", toolCallId: "c1", state: "output-available", input: {}, output: 1 };
    const messages = [ASKED, assistant({ type: "step-start" }, tool)];
    const { messageId, request } = parseUiRequest({ messages, metadata: { team: "a" } }, ALL);
    expect(messageId).toBe("a1");
    expect(request.metadata).toEqual({ team: "a", [MESSAGE_ID_METADATA]: "a1" });
    const again = parseUiRequest({ messages: [ASKED], trigger: "regenerate-message", messageId: "a1" }, ALL);
    expect([again.messageId, again.isRegeneration]).toEqual([undefined, true]);
  });

  it("may have the settings of the AI SDK's calls beside it", () => {
    const schema = { type: "object", properties: { word: { type: "string" } } };
    expect(
      requestOf({
        instructions: "Be short.",
        maxOutputTokens: 10,
        temperature: 0.5,
        topP: 0.9,
        topK: 5,
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        stopSequences: ["x"],
        seed: 7,
        reasoning: "low",
        tools: { look_up: { description: "Looks up.", inputSchema: { jsonSchema: schema }, strict: true } },
        toolChoice: { type: "tool", toolName: "look_up" },
        responseFormat: { type: "json", schema, name: "answer" },
        metadata: { team: "a" },
        subject: "s-1",
        end_user: "u-1",
        priority: "batch",
        options: { tokens: 3 },
        policy: { max_attempts: 1 },
      }),
    ).toEqual({
      model: "sim",
      input: [
        { role: "system", content: "Be short." },
        { role: "user", content: "Hi" },
      ],
      max_output_tokens: 10,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      stop: ["x"],
      seed: 7,
      reasoning: { effort: "low" },
      tools: [{ name: "look_up", description: "Looks up.", parameters: schema, strict: true }],
      tool_choice: { name: "look_up" },
      tool_calls: "end",
      response_format: { type: "json_schema", schema, name: "answer" },
      metadata: { team: "a" },
      subject: "s-1",
      end_user: "u-1",
      priority: "batch",
      options: { tokens: 3 },
      policy: { max_attempts: 1 },
    });
    expect(requestOf({ reasoning: "provider-default", responseFormat: { type: "json" } })).toMatchObject({
      response_format: { type: "json_object" },
    });
  });
});

describe("a user's message", () => {
  it("has its texts and files as parts, and what is the page's own left out", () => {
    expect(
      inputOf(
        user(
          said("What is this?"),
          { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw==", filename: "a.png" },
          { type: "file", mediaType: "audio/wav", url: `/v1/blobs/${BLOB}` },
          {
            type: "file",
            mediaType: "text/plain",
            url: "data:text/plain;charset=utf-8;base64,SGk=",
            filename: "a.txt",
          },
          {
            type: "file",
            mediaType: "image",
            url: "https://a.example/",
            providerReference: { reprise: BLOB },
          },
          { type: "data-place", data: { lat: 1 } },
        ),
      ),
    ).toEqual([
      {
        role: "user",
        content: [
          said("What is this?"),
          { type: "image", url: "data:image/png;base64,iVBORw==" },
          { type: "audio", blob: BLOB },
          { type: "file", url: "data:text/plain;base64,SGk=", name: "a.txt" },
          { type: "image", blob: BLOB },
        ],
      },
    ]);
  });
});

describe("an assistant's message", () => {
  const tool = (id: string, more: object) => ({
    type: "tool-look_up",
    toolCallId: id,
    input: { n: 1 },
    ...more,
  });
  const call = (id: string, args = '{"n":1}') => ({ call_id: id, name: "look_up", arguments: args });

  it("is a turn for each of its steps, with the answers of its tools after it", () => {
    expect(
      inputOf(
        ASKED,
        assistant(
          { type: "step-start" },
          { type: "reasoning", text: "hm" },
          said("Let me "),
          said("see."),
          tool("c1", { state: "output-available", output: { found: 1 } }),
          {
            ...tool("c2", { state: "output-error", errorText: "Not there." }),
            type: "dynamic-tool",
            toolName: "find",
          },
          { type: "step-start" },
          { type: "source-url", sourceId: "s", url: "https://a.example/" },
          said("Found."),
        ),
      ),
    ).toEqual([
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: "Let me see.",
        reasoning: [{ text: "hm" }],
        tool_calls: [call("c1"), { ...call("c2"), name: "find" }],
      },
      { role: "tool", call_id: "c1", output: { found: 1 } },
      { role: "tool", call_id: "c2", output: "Not there." },
      { role: "assistant", content: "Found." },
    ]);
  });

  it("is without calls that have no answer, and without steps that say nothing", () => {
    const states = ["input-streaming", "input-available", "approval-requested"];
    const waiting = states.map((state, i) => tool(`c${i}`, { state }));
    const preliminary = tool("c9", { state: "output-available", output: 1, preliminary: true });
    expect(inputOf(ASKED, assistant(...waiting, preliminary), { ...ASKED, id: "u2" })).toHaveLength(2);
  });

  it("answers a call that was denied, or that was no JSON, with what its page says of it", () => {
    const denied = tool("c1", {
      state: "output-denied",
      approval: { id: "p", approved: false, reason: "No." },
    });
    const refused = tool("c2", { state: "output-error", input: "{", errorText: "Not JSON." });
    expect(inputOf(ASKED, assistant(denied, refused)).slice(1)).toEqual([
      { role: "assistant", tool_calls: [call("c1"), call("c2", "{")] },
      { role: "tool", call_id: "c1", output: "No." },
      { role: "tool", call_id: "c2", output: "Not JSON." },
    ]);
  });

  it("hands back reasoning in the forms that the model takes, and none that it does not", () => {
    const sealed = { reprise: { summary: true, encrypted: "c2VhbA==", id: "rs_1" } };
    const message = assistant(
      { type: "reasoning", text: "hm" },
      { type: "reasoning", text: "In short.", providerMetadata: sealed },
      said("Hello"),
    );
    const reasoningFor = (...taken: string[]) =>
      requestOf(
        { messages: [ASKED, message] },
        { models: ["sim"], takes: (_model, name) => taken.includes(name) },
      ).input[1];
    const hidden = { encrypted: "c2VhbA==", id: "rs_1", summary: ["In short."] };
    expect(reasoningFor()).not.toHaveProperty("reasoning");
    expect(reasoningFor("reasoning_history")).toMatchObject({ reasoning: [{ text: "hm" }] });
    expect(reasoningFor("encrypted_reasoning")).toMatchObject({ reasoning: [hidden] });
    expect(reasoningFor("reasoning_history", "encrypted_reasoning")).toMatchObject({
      reasoning: [{ text: "hm" }, hidden],
    });
  });

  it("may have what a user has said in between", () => {
    const steered = { type: "steering-message", id: "s", parts: [said("Faster.")] };
    expect(inputOf(ASKED, assistant(said("One"), steered, { type: "step-start" }, said("Two")))).toEqual([
      { role: "user", content: "Hi" },
      { role: "assistant", content: "One" },
      { role: "user", content: "Faster." },
      { role: "assistant", content: "Two" },
    ]);
  });
});

describe("what can't be honoured is refused by name", () => {
  const call = (more: object) => ({
    type: "tool-look_up",
    toolCallId: "c1",
    state: "output-available",
    ...more,
  });
  it.each([
    ["a field that no table has", { providerOptions: {} }, "providerOptions"],
    ["a native conversation: the chat is its own history", { conversation: "conv_1" }, "conversation"],
    ["instructions twice", { instructions: "a", system: "b" }, "system"],
    ["a setting over its limit", { maxOutputTokens: 0 }, "maxOutputTokens"],
    ["a tool's choice that is no tool", { toolChoice: "required" }, "toolChoice"],
    ["a tool with a wrong name", { tools: { "look up": {} } }, "tools.look up.name"],
    ["a validator's schema", { tools: { a: { inputSchema: { def: {} } } } }, "tools.a.inputSchema"],
    ["an unknown part", { messages: [user({ type: "video" })] }, "messages.0.parts.0.type"],
    [
      "a file that is another provider's",
      { messages: [user(foreign())] },
      "messages.0.parts.0.providerReference",
    ],
    ["a file that is nowhere", { messages: [ASKED, user(nowhere())] }, "messages.1"],
    ["a message that says nothing", { messages: [user({ type: "data-x", data: 1 })] }, "messages.0.parts"],
    ["messages that say nothing", { messages: [assistant()] }, "messages"],
    ["a call that is there twice", { messages: [ASKED, assistant(call({}), call({}))] }, "messages.1"],
    ["a part without what its type needs", { messages: [user({ type: "text" })] }, "messages.0.parts.0.text"],
    ["another trigger", { trigger: "resume-stream" }, "trigger"],
  ])("%s", (_name, body, param) => {
    expect(() => requestOf(body)).toThrow(
      expect.objectContaining({ code: "invalid_request", param, message: expect.stringContaining(param) }),
    );
  });

  function foreign() {
    return {
      type: "file",
      mediaType: "image/png",
      url: "https://a.example/",
      providerReference: { openai: "file-1" },
    };
  }
  function nowhere() {
    return { type: "file", mediaType: "image/png", url: "ftp://a.example/a.png" };
  }
});

describe("the README's table", () => {
  it("has each field of the body, and no other", () => {
    const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
    const [, table = ""] = readme.split("## The body");
    const [rows = ""] = table.split("\n## ");
    const named = rows.matchAll(/^\| (`[^|]+`) \| (honoured|ignored)/gm);
    const fields = [...named].flatMap(([, names = ""]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(new Set(fields)).toEqual(new Set(Object.keys(chatBodySchema.shape)));
  });
});
