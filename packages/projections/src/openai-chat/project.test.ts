import type OpenAI from "openai";
import * as fc from "fast-check";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { LogEvent } from "../any-log.fixture.ts";
import {
  completed,
  delta,
  framesOf,
  itKeepsTheLaws,
  logOf,
  rewind,
  USAGE,
} from "../projection-laws.fixture.ts";
import type { OpenAiErrorBody } from "../openai-error.ts";
import type { ChatChunk } from "./chunk.ts";
import { parseChatPosition, toChatPosition } from "./position.ts";
import { chatProjection } from "./project.ts";

type OpenAIChunk = OpenAI.Chat.Completions.ChatCompletionChunk;

it("what is sent has the types of the openai package", () => {
  expectTypeOf<ChatChunk>().toExtend<OpenAIChunk>();
  expectTypeOf<OpenAiErrorBody>().toExtend<{ error: OpenAI.ErrorObject }>();
});

function chunksOf(events: readonly LogEvent[], includeUsage = false): (OpenAIChunk | string)[] {
  return framesOf(chatProjection({ includeUsage }), events)
    .flat()
    .map(({ data }) => (data === "[DONE]" ? data : (JSON.parse(data) as OpenAIChunk)));
}
const choicesOf = (events: readonly LogEvent[]) =>
  chunksOf(events).flatMap((chunk) => (typeof chunk === "string" ? [] : (chunk.choices ?? [])));

describe.each([{ includeUsage: false }, { includeUsage: true }])("chunks, %j", (options) => {
  // [DONE] after a finish_reason, or an error.
  itKeepsTheLaws(chatProjection(options), ({ data }, before) => {
    if (data.startsWith('{"error"')) return true;
    const hasFinished = /"finish_reason":"|"choices":\[\],"usage":/.test(before?.data ?? "");
    return data === "[DONE]" && hasFinished;
  });
});

describe("a stream", () => {
  it("begins with the role and ends with the reason and [DONE]", () => {
    expect(chunksOf(logOf(delta("Hel"), delta("lo"), completed()))).toEqual([
      expect.objectContaining({
        id: `chatcmpl-${"0a".repeat(13)}7`,
        object: "chat.completion.chunk",
        created: 1_795_000_000,
        model: "sim",
        choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
      }),
      expect.objectContaining({ choices: [{ index: 0, delta: { content: "Hel" }, finish_reason: null }] }),
      expect.objectContaining({ choices: [{ index: 0, delta: { content: "lo" }, finish_reason: null }] }),
      expect.objectContaining({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
      "[DONE]",
    ]);
  });

  it("has the same bytes for plain text as for other text, but for the field's name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (text, includeUsage) => {
        const [plain, general] = [delta(text), { type: "refusal.delta", text }].map((draft) =>
          framesOf(chatProjection({ includeUsage }), logOf(draft)).flat().at(-1),
        );
        expect(plain?.data.replace('"content":', '"refusal":')).toBe(general?.data);
      }),
    );
  });

  it("that includes the usage has it in a chunk of its own, and null before", () => {
    const chunks = chunksOf(logOf(delta("a"), completed()), true);
    expect(chunks.slice(0, -2)).toEqual(
      chunks.slice(0, -2).map(() => expect.objectContaining({ usage: null })),
    );
    expect(chunks.at(-2)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 5,
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    });
  });

  it("tells reasoning, a refusal and calls in the fields that clients read", () => {
    const choices = choicesOf(
      logOf(
        { type: "reasoning.delta", text: "Hm." },
        { type: "refusal.delta", text: "No." },
        {
          type: "tool.call",
          call_id: "c1",
          name: "look_up",
          arguments: "{}",
          provider_state: { google: { a: 1 } },
        },
        { type: "tool.call", call_id: "c2", name: "seek", arguments: "" },
        completed("tool_calls"),
      ),
    );
    expect(choices.map((choice) => choice.delta)).toEqual([
      { role: "assistant", content: "" },
      { reasoning: "Hm.", reasoning_content: "Hm." },
      { refusal: "No." },
      {
        tool_calls: [
          {
            index: 0,
            id: "c1",
            type: "function",
            function: { name: "look_up", arguments: "{}" },
            extra_content: { google: { a: 1 } },
          },
        ],
      },
      { tool_calls: [{ index: 1, id: "c2", type: "function", function: { name: "seek", arguments: "" } }] },
      {},
    ]);
    expect(choices.at(-1)?.finish_reason).toBe("tool_calls");
  });

  it("has the logprobs of a delta and the place of a citation in the whole text", () => {
    const choices = choicesOf(
      logOf(
        delta("See "),
        { ...delta("here"), logprobs: [{ token: "here", logprob: -1, top: [{ token: "é", logprob: -2 }] }] },
        {
          type: "output.annotation",
          kind: "url",
          from_seq: 3,
          to_seq: 3,
          from_offset: 1,
          to_offset: 4,
          url: "https://example.com/",
        },
        completed(),
      ),
    );
    expect(choices[2]?.logprobs).toEqual({
      content: [
        {
          token: "here",
          logprob: -1,
          bytes: [104, 101, 114, 101],
          top_logprobs: [{ token: "é", logprob: -2, bytes: [195, 169] }],
        },
      ],
      refusal: null,
    });
    expect(choices[3]?.delta).toEqual({
      annotations: [
        {
          type: "url_citation",
          url_citation: { start_index: 5, end_index: 8, title: "", url: "https://example.com/" },
        },
      ],
    });
  });

  it.each([
    ["stop", undefined],
    ["length", undefined],
    ["content_filter", undefined],
    ["tool_calls", undefined],
    ["timeout", "length"],
    ["schema_mismatch", "stop"],
    ["interrupted", "stop"],
    ["other", "stop"],
    ["of_a_later_version", "stop"],
  ])("that has ended with %s says so in OpenAI's words", (reason, told) => {
    const last = choicesOf(logOf(completed(reason))).at(-1);
    expect(last?.finish_reason).toBe(told ?? reason);
    expect(last).toEqual(expect.objectContaining(told ? { native_finish_reason: reason } : {}));
  });

  it("that was cancelled ends in order, with nothing said before too", () => {
    const cancelled = {
      type: "generation.cancelled",
      reason: "asked",
      usage: USAGE,
      seq: 1,
    } as unknown as LogEvent;
    expect(choicesOf([cancelled])).toEqual([
      { index: 0, delta: { role: "assistant", content: "" }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: "stop", native_finish_reason: "cancelled" },
    ]);
  });

  it("that has failed ends with the failure as an error", () => {
    const error = { code: "worker_lost", message: "No worker is left.", retryable: true };
    const chunks = chunksOf(logOf(delta("a"), { type: "generation.failed", error, usage: USAGE }));
    expect(chunks.at(-1)).toEqual({
      error: { message: "No worker is left.", type: "server_error", param: null, code: "worker_lost" },
    });
  });

  it("continues over a takeover that takes nothing back", () => {
    const taken = { type: "generation.started", attempt: 2, worker: "w2", model: "sim" };
    const choices = choicesOf(logOf(delta("a"), taken, rewind(2), delta("b"), completed()));
    expect(choices.map((choice) => choice.delta.content)).toEqual(["", "a", "b", undefined]);
  });

  it("is over with the error `restarted` where words that were sent do not count any more", () => {
    const chunks = chunksOf(logOf(delta("a"), rewind(1), delta("b"), completed()));
    expect(chunks).toHaveLength(3);
    expect(chunks.at(-1)).toMatchObject({ error: { code: "restarted", type: "server_error" } });
  });
});

it("a position is the number of a frame, and the client has those up to it", () => {
  expect(parseChatPosition(undefined)).toBe(0);
  expect(parseChatPosition(toChatPosition(0))).toBe(1);
  expect(parseChatPosition("41")).toBe(42);
  expect(() => parseChatPosition("-1")).toThrow(expect.objectContaining({ code: "cursor_invalid" }));
});
