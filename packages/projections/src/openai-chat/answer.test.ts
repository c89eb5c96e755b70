import type OpenAI from "openai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { asReadLate, type LogEvent } from "../any-log.fixture.ts";
import { completed, delta, logOf, RUN, USAGE } from "../projection-laws.fixture.ts";
import { chatAnswer, type ChatCompletionBody } from "./answer.ts";

it("an answer has the type of the openai package", () => {
  expectTypeOf<ChatCompletionBody>().toExtend<OpenAI.Chat.Completions.ChatCompletion>();
});

function answerOf(events: readonly LogEvent[]) {
  let state = chatAnswer.begin(RUN);
  for (const event of events) ({ state } = chatAnswer.project(state, event));
  return state.answer;
}

describe("an answer", () => {
  it("is one completion with all that counts", () => {
    const events = logOf(
      delta("lost"),
      { type: "output.rewind", to_seq: 1, reason: "worker_lost" },
      { type: "reasoning.delta", text: "Hm." },
      delta("Hel"),
      { ...delta("lo"), logprobs: [{ token: "lo", logprob: -1 }] },
      {
        type: "output.annotation",
        kind: "url",
        from_seq: 6,
        from_offset: 0,
        to_offset: 2,
        url: "https://a/",
      },
      completed(),
    );
    expect(answerOf(events)).toEqual({
      status: 200,
      body: {
        id: `chatcmpl-${"0a".repeat(13)}7`,
        object: "chat.completion",
        created: 1_795_000_000,
        model: "sim",
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: "Hello",
              refusal: null,
              reasoning: "Hm.",
              reasoning_content: "Hm.",
              annotations: [
                {
                  type: "url_citation",
                  url_citation: { start_index: 3, end_index: 5, title: "", url: "https://a/" },
                },
              ],
            },
            logprobs: {
              content: [{ token: "lo", logprob: -1, bytes: [108, 111], top_logprobs: [] }],
              refusal: null,
            },
            finish_reason: "stop",
          },
        ],
        usage: {
          prompt_tokens: 3,
          completion_tokens: 2,
          total_tokens: 5,
          prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 1, audio_tokens: 0 },
        },
      },
    });
  });

  it("with calls has no content", () => {
    const provider_state = { google: { thought_signature: "x" } };
    const call = { type: "tool.call", call_id: "c1", name: "look_up", arguments: "{}", provider_state };
    expect(answerOf(logOf(call, completed("tool_calls")))).toMatchObject({
      body: {
        choices: [
          {
            finish_reason: "tool_calls",
            message: {
              content: null,
              tool_calls: [
                {
                  id: "c1",
                  type: "function",
                  function: { name: "look_up", arguments: "{}" },
                  extra_content: provider_state,
                },
              ],
            },
          },
        ],
      },
    });
  });

  it("of a generation that has failed is the failure, with its status", () => {
    const error = { code: "engine_unavailable", message: "No engine.", retryable: true };
    expect(answerOf(logOf(delta("a"), { type: "generation.failed", error, usage: USAGE }))).toEqual({
      status: 502,
      body: {
        error: { message: "No engine.", type: "server_error", param: null, code: "engine_unavailable" },
      },
    });
  });

  it("is there once the log has its end", () => {
    expect(answerOf(logOf(delta("a")))).toBeUndefined();
  });

  it("has of what was withdrawn what is shown of it", () => {
    const withdrawn = { from_seq: 2, to_seq: 4, replacement: "[gone]", rule: "r", category: "c" };
    const events = logOf(
      { ...delta("SECRET"), logprobs: [{ token: "SECRET", logprob: -1 }] },
      { type: "output.annotation", kind: "url", url: "https://SECRET/" },
      { type: "output.blob", kind: "image", blob: "SECRET" },
      ...[{}, { channel: "annotation" }, { channel: "blob" }].map((channel) => ({
        type: "moderation.redacted",
        ...withdrawn,
        ...channel,
      })),
      completed(),
    );
    const answer = answerOf(asReadLate(events));
    expect(answer?.body).toMatchObject({
      choices: [{ logprobs: null, message: { content: "[gone]", blobs: [{ kind: "image" }] } }],
    });
    expect(JSON.stringify(answer)).not.toContain("SECRET");
  });
});
