import { describe, expect, it } from "vitest";
import {
  completed,
  delta,
  type Draft,
  framesOf,
  itKeepsTheLaws,
  rewind,
  STARTED,
  toLog,
  USAGE,
} from "../projection-laws.fixture.ts";
import { openaiResponses } from "./project.ts";

interface Told {
  readonly type: string;
  readonly sequence_number: number;
  readonly [field: string]: unknown;
}

function told(...drafts: readonly Draft[]): Told[] {
  return framesOf(openaiResponses, toLog(drafts))
    .flat()
    .map(({ data }) => JSON.parse(data) as Told);
}
const typesOf = (events: readonly Told[]) => events.map(({ type }) => type.replace("response.", ""));
const last = (events: readonly Told[]) => events.at(-1) as Told & { response: Record<string, unknown> };

describe("the Responses projection", () => {
  itKeepsTheLaws(openaiResponses, ({ event = "" }) =>
    ["response.completed", "response.incomplete", "response.failed"].includes(event),
  );

  it("numbers its events from 0 without holes, and names each frame by its type", () => {
    const log = [STARTED, { type: "reasoning.delta", text: "hm" }, delta("Hel"), delta("lo"), completed()];
    const events = told(...log);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, i) => i));
    const frames = framesOf(openaiResponses, toLog(log)).flat();
    expect(frames.map(({ event }) => event)).toEqual(events.map(({ type }) => type));
  });

  it("tells a text as one message", () => {
    const events = told(STARTED, delta("Hel"), delta("lo"), completed());
    expect(typesOf(events)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    const part = { type: "output_text", text: "Hello", annotations: [], logprobs: [] };
    expect(last(events).response).toMatchObject({
      status: "completed",
      output: [{ type: "message", status: "completed", role: "assistant", content: [part] }],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    });
  });

  it("tells what a model thinks as a summary, and seals it", () => {
    const events = told(
      STARTED,
      { type: "reasoning.delta", text: "hm" },
      { type: "reasoning.summary.delta", text: "Thinks.", part: 1 },
      { type: "reasoning.sealed", encrypted: "c2VhbA", id: "rs_9" },
      delta("Hi"),
      { type: "reasoning.sealed", encrypted: "YQ" },
      completed(),
    );
    expect(typesOf(events).filter((type) => type.startsWith("reasoning_summary"))).toEqual([
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
    ]);
    expect(last(events).response.output).toMatchObject([
      {
        type: "reasoning",
        summary: [
          { type: "summary_text", text: "hm" },
          { type: "summary_text", text: "Thinks." },
        ],
        encrypted_content: '{"encrypted":"c2VhbA","id":"rs_9"}',
      },
      { type: "message" },
      { type: "reasoning", summary: [], encrypted_content: "YQ" },
    ]);
  });

  it("tells a call whole", () => {
    const call = { call_id: "call_1", name: "look_up", arguments: "{}" };
    const events = told(STARTED, { type: "tool.call", ...call }, completed("tool_calls"));
    expect(typesOf(events).slice(2)).toEqual([
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "completed",
    ]);
    expect(last(events).response.output).toMatchObject([
      { type: "function_call", status: "completed", ...call },
    ]);
  });

  it("puts an annotation where its text is", () => {
    const place = { from_seq: 3, to_seq: 3, from_offset: 1, to_offset: 3 };
    const source = { kind: "url", url: "https://example.com/", title: "Example" };
    const events = told(
      STARTED,
      delta("See "),
      delta("this"),
      { type: "output.annotation", ...source, ...place },
      completed(),
    );
    expect(events.find(({ type }) => type.endsWith("annotation.added"))).toMatchObject({
      annotation: { type: "url_citation", start_index: 5, end_index: 7, url: source.url, title: "Example" },
    });
  });

  it("has the log probabilities of tokens whose word is told", () => {
    const logprobs = [{ token: "é", logprob: -1, top: [{ token: "a", logprob: -2 }] }, { logprob: -3 }];
    const events = told(STARTED, { ...delta("é"), logprobs }, completed());
    const said = [
      {
        token: "é",
        logprob: -1,
        bytes: [195, 169],
        top_logprobs: [{ token: "a", logprob: -2, bytes: [97] }],
      },
    ];
    expect(events.find(({ type }) => type === "response.output_text.delta")?.logprobs).toEqual(said);
    expect(events.find(({ type }) => type === "response.output_text.done")?.logprobs).toEqual(said);
  });

  it.each([
    ["length", { type: "response.incomplete", status: "incomplete", reason: "max_output_tokens" }],
    ["content_filter", { type: "response.incomplete", status: "incomplete", reason: "content_filter" }],
    ["timeout", { type: "response.incomplete", status: "incomplete", reason: "timeout" }],
    ["schema_mismatch", { type: "response.incomplete", status: "incomplete", reason: "schema_mismatch" }],
    ["interrupted", { type: "response.incomplete", status: "incomplete", reason: "interrupted" }],
    ["tool_calls", { type: "response.completed", status: "completed", reason: undefined }],
    ["other", { type: "response.completed", status: "completed", reason: undefined }],
  ])("ends a generation that has finished with %s", (finishReason, { type, status, reason }) => {
    const end = last(told(STARTED, delta("Hi"), completed(finishReason)));
    expect(end).toMatchObject({ type, response: { status } });
    expect(end.response.incomplete_details).toEqual(reason === undefined ? null : { reason });
  });

  it("takes a refusal for an answer, and a halt for none", () => {
    const refusal = { type: "refusal.delta", text: "No." };
    const refused = last(told(STARTED, refusal, completed("content_filter")));
    expect(refused).toMatchObject({
      type: "response.completed",
      response: { output: [{ content: [{ type: "refusal", refusal: "No." }] }] },
    });
    const halt = { type: "moderation.halted", from_seq: 2, replacement: "", rule: "r", category: "c" };
    const halted = last(told(STARTED, refusal, halt, completed("content_filter")));
    expect(halted.response.incomplete_details).toEqual({ reason: "content_filter" });
  });

  it("tells a cancel as incomplete, with the status cancelled", () => {
    const end = last(
      told(STARTED, delta("Hi"), { type: "generation.cancelled", reason: "asked", usage: USAGE }),
    );
    expect(end).toMatchObject({
      type: "response.incomplete",
      response: { status: "cancelled", incomplete_details: null, output: [{ status: "incomplete" }] },
    });
  });

  it("tells a cancel in the queue", () => {
    const events = told({ type: "generation.cancelled", reason: "asked", usage: USAGE });
    expect(typesOf(events)).toEqual(["created", "incomplete"]);
  });

  it("tells a failure with its code", () => {
    const error = { code: "worker_lost", message: "No worker is left.", retryable: true };
    const end = last(told(STARTED, { type: "generation.failed", error, usage: USAGE }));
    expect(end).toMatchObject({
      type: "response.failed",
      response: { status: "failed", error: { code: "worker_lost", message: error.message } },
    });
  });

  it("continues over a takeover that continues, and fails where what was told does not count any more", () => {
    const again = { ...STARTED, attempt: 2 };
    const continued = told(STARTED, delta("Hel"), again, rewind(2), delta("lo"), completed());
    expect(last(continued).type).toBe("response.completed");
    const restarted = told(STARTED, delta("Hel"), again, rewind(1), delta("Hello"), completed());
    expect(last(restarted)).toMatchObject({
      type: "response.failed",
      response: { error: { code: "restarted" }, output: [{ status: "incomplete" }] },
    });
  });
});
