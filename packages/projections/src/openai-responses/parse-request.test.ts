import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseResponsesRequest } from "./parse-request.ts";
import { fromSealed, toEncryptedContent } from "./sealed.ts";

const PNG = "data:image/png;base64,AAAA";
const look = { type: "function", name: "look_up", parameters: { type: "object" } };

function native(body: object, items: ReadonlyMap<string, unknown> = new Map()) {
  return parseResponsesRequest({ model: "sim", input: "Hi", ...body }).toNative(items);
}
const inputOf = (...items: object[]) => native({ input: items }).input;
function problemOf(body: object): { code?: string; param?: string; message?: string } {
  try {
    native(body);
  } catch (error) {
    return error as object;
  }
  throw new Error("nothing was refused");
}

describe("the input of a Responses request", () => {
  it("is a text, or messages, whose type may be left out", () => {
    expect(native({}).input).toBe("Hi");
    expect(native({ instructions: "Be short." }).input).toEqual([
      { role: "system", content: "Be short." },
      { role: "user", content: "Hi" },
    ]);
    const asked = { role: "user", content: "Hi" };
    expect(inputOf({ ...asked, type: "message", id: "msg_1", status: "completed" }, asked)).toEqual([
      asked,
      asked,
    ]);
  });

  it("has parts in the native form, and one text as that text", () => {
    const content = [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image_url: PNG, detail: "low" },
      { type: "input_image", file_id: `blob_${"0".repeat(26)}`, detail: "auto" },
      { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" },
      { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
    ];
    expect(inputOf({ role: "user", content })).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image", url: PNG, detail: "low" },
          { type: "image", blob: `blob_${"0".repeat(26)}`, detail: "auto" },
          { type: "file", url: "data:application/pdf;base64,AAAA", name: "a.pdf" },
          { type: "audio", url: "data:audio/mpeg;base64,AAAA" },
        ],
      },
    ]);
    expect(inputOf({ role: "user", content: [{ type: "input_text", text: "Hi" }] })).toEqual([
      { role: "user", content: "Hi" },
    ]);
  });

  it("makes one turn of what the assistant has thought, said and called", () => {
    const call = (id: string) => ({ type: "function_call", call_id: id, name: "look_up", arguments: "{}" });
    const answer = (id: string, output: unknown) => ({ type: "function_call_output", call_id: id, output });
    const said = { type: "output_text", text: "I look.", annotations: [], logprobs: [] };
    expect(
      inputOf(
        { role: "user", content: "Hi" },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }] },
        { type: "message", role: "assistant", id: "msg_1", status: "completed", content: [said] },
        call("a"),
        call("b"),
        answer("a", "found"),
        answer("b", [{ type: "input_image", image_url: PNG }]),
        call("c"),
        answer("c", "no"),
        { type: "reasoning", summary: [], encrypted_content: '{"encrypted":"x","id":"rs_9"}' },
        { role: "assistant", content: "Done." },
        { role: "assistant", content: [{ type: "refusal", refusal: "No more." }] },
      ),
    ).toEqual([
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        reasoning: [{ text: "hm" }],
        content: "I look.",
        tool_calls: [
          { call_id: "a", name: "look_up", arguments: "{}" },
          { call_id: "b", name: "look_up", arguments: "{}" },
        ],
      },
      { role: "tool", call_id: "a", output: "found" },
      { role: "tool", call_id: "b", content: [{ type: "image", url: PNG }] },
      { role: "assistant", tool_calls: [{ call_id: "c", name: "look_up", arguments: "{}" }] },
      { role: "tool", call_id: "c", output: "no" },
      { role: "assistant", reasoning: [{ encrypted: "x", id: "rs_9" }], content: "Done." },
      { role: "assistant", content: [{ type: "refusal", refusal: "No more." }] },
    ]);
  });

  it("leaves out thoughts that nothing was said after", () => {
    const thought = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "hm" }] };
    const asked = { role: "user", content: "Hi" };
    expect(inputOf(thought, asked)).toEqual([asked]);
  });

  it("names items of responses, in their places", () => {
    const request = parseResponsesRequest({
      model: "sim",
      input: [
        { role: "user", content: "Hi" },
        { type: "item_reference", id: "msg_1" },
        { id: "msg_1" },
        { role: "user", content: "And?" },
      ],
    });
    expect(request.references).toEqual(["msg_1"]);
    const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [] };
    expect(request.toNative(new Map([["msg_1", item]])).input).toEqual([
      { role: "user", content: "Hi" },
      { role: "assistant", content: "" },
      { role: "assistant", content: "" },
      { role: "user", content: "And?" },
    ]);
    expect(() => request.toNative(new Map())).toThrow(expect.objectContaining({ param: "input.1.id" }));
  });

  it.each([
    [{ input: [] }, "input"],
    [{ input: [{ type: "web_search_call", id: "ws_1" }] }, "input.0.type"],
    [{ input: [{ role: "user", content: [{ type: "input_video" }] }] }, "input.0.content.0.type"],
    [{ input: [{ role: "user", content: "Hi", colour: "red" }] }, "input.0.colour"],
    [
      {
        input: [
          { role: "user", content: "Hi" },
          { type: "function_call_output", call_id: "a", output: "x" },
        ],
      },
      "input.1.call_id",
    ],
    [
      {
        instructions: "Be short.",
        input: [
          { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
          {
            role: "user",
            content: [
              { type: "input_image", image_url: "http://a/" },
              { type: "input_text", text: "a" },
            ],
          },
        ],
      },
      "input.1.content.0.url",
    ],
  ])("is refused by its place: %j", (body, param) => {
    expect(problemOf(body)).toMatchObject({ code: "invalid_request", param });
  });
});

describe("the settings of a Responses request", () => {
  it("has a call end the turn, and leaves defaults to the engine", () => {
    expect(native({ tools: [look], tool_choice: "auto", parallel_tool_calls: true, top_p: 1 })).toEqual({
      model: "sim",
      input: "Hi",
      tools: [{ name: "look_up", parameters: { type: "object" } }],
      tool_calls: "end",
    });
    expect(native({ tool_choice: "auto", parallel_tool_calls: false })).toEqual({
      model: "sim",
      input: "Hi",
    });
  });

  it("has a tool's choice, one of some tools too", () => {
    const tools = [
      { ...look, strict: true, description: "Looks." },
      { ...look, name: "other" },
    ];
    expect(native({ tools, tool_choice: { type: "function", name: "other" } }).tool_choice).toEqual({
      name: "other",
    });
    const choice = {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "look_up" }],
    };
    expect(native({ tools, tool_choice: choice })).toMatchObject({
      tools: [{ name: "look_up", strict: true, description: "Looks." }],
      tool_choice: "required",
    });
  });

  it("has the format of the answer", () => {
    const format = { type: "json_schema", name: "answer", schema: { type: "object" }, strict: true };
    expect(native({ text: { format, verbosity: "low" } })).toMatchObject({
      response_format: format,
      verbosity: "low",
    });
    expect(native({ text: { format: { type: "text" } } })).toEqual({ model: "sim", input: "Hi" });
  });

  it("has what the native request calls otherwise", () => {
    const fields = {
      user: "u-1",
      safety_identifier: "p-1",
      service_tier: "fast",
      reasoning: { effort: "low" },
    };
    expect(native({ ...fields, top_logprobs: 2, stop: "END", options: { tokens: 3 } })).toEqual({
      model: "sim",
      input: "Hi",
      end_user: "u-1",
      subject: "p-1",
      service_tier: "priority",
      priority: "interactive",
      reasoning: { effort: "low" },
      logprobs: 2,
      stop: ["END"],
      options: { tokens: 3 },
    });
  });

  it("is in a conversation, or continues after a response, not both", () => {
    const conversation = `conv_${"0".repeat(26)}`;
    expect(native({ conversation: { id: conversation } }).conversation).toBe(conversation);
    const previous = `gen_3_${"0".repeat(26)}`;
    const ids = { previous_response_id: `resp_${"0".repeat(26)}3` };
    expect(parseResponsesRequest({ model: "sim", input: "Hi", ...ids }).previous).toBe(previous);
    expect(problemOf({ ...ids, conversation })).toMatchObject({ param: "previous_response_id" });
  });

  it.each([
    [{ tools: [{ type: "web_search_preview" }] }, "tools.0.type"],
    [{ tools: [{ ...look, defer_loading: true }] }, "tools.0.defer_loading"],
    [{ tools: [look], tool_choice: { type: "mcp", server_label: "a" } }, "tool_choice.type"],
    [{ tool_choice: "required" }, "tool_choice"],
    [{ tools: [look], tool_choice: { type: "function", name: "other" } }, "tool_choice.name"],
    [{ text: { verbosity: "loud" } }, "text.verbosity"],
    [{ text: { format: { type: "json_schema", name: "a", schema: 3 } } }, "text.format.schema"],
    [{ top_logprobs: 99 }, "top_logprobs"],
    [{ reasoning: { effort: "max" } }, "reasoning.effort"],
    [{ reasoning: { mode: "pro" } }, "reasoning.mode"],
    [{ prompt_cache_options: { prewarm: true } }, "prompt_cache_options.prewarm"],
    [{ service_tier: "ultrafast" }, "service_tier"],
    [{ include: ["everything"] }, "include.0"],
    [{ user: "a b" }, "user"],
  ])("is refused by the name that the client knows: %j", (body, param) => {
    expect(problemOf(body)).toMatchObject({ code: "invalid_request", param });
    expect(problemOf(body).message).toMatch(new RegExp(`^${param}: `));
  });
});

it("hands sealed reasoning back as its engine has made it", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.option(fc.string(), { nil: undefined }), (encrypted, id) => {
      expect(fromSealed(toEncryptedContent({ encrypted, id }))).toEqual({
        encrypted,
        ...(id !== undefined && { id }),
      });
    }),
  );
});
