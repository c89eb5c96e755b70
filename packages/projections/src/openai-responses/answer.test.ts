import type { KnownEvent, UnknownEvent } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyLog } from "../any-log.fixture.ts";
import { RUN } from "../projection-laws.fixture.ts";
import { itemsIn, responsesAnswer, toAnswer } from "./answer.ts";
import { generationOfItem } from "./output/items.ts";
import { openaiResponses } from "./project.ts";

type Draft = { readonly type: string; readonly [field: string]: unknown };

function stateOf(log: readonly (KnownEvent | UnknownEvent)[]) {
  return log.reduce(
    (state, event) => responsesAnswer.project(state, event).state,
    responsesAnswer.begin(RUN),
  );
}
const after = (...drafts: readonly Draft[]) =>
  stateOf(drafts.map((draft, i) => ({ ...draft, seq: i + 1 }) as unknown as KnownEvent));

const started = { type: "generation.started", attempt: 1, worker: "w", model: "sim" };
const delta = (text: string) => ({ type: "output.delta", text });
const usage = { input_tokens: 1, output_tokens: 3 };

describe("a response as one body", () => {
  it("is what the last event of its stream has, unless it was begun again", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        let state = openaiResponses.begin(RUN);
        let last: string | undefined;
        for (const event of log) {
          const told = openaiResponses.project(state, event);
          state = told.state;
          last = told.frames.at(-1)?.data ?? last;
        }
        const { response } = JSON.parse(last!) as { response: { error: { code: string } | null } };
        fc.pre(response.error?.code !== "restarted");
        expect(JSON.parse(JSON.stringify(toAnswer(stateOf(log))))).toEqual(response);
      }),
    );
  });

  it("can be had at any time", () => {
    expect(toAnswer(after())).toMatchObject({ status: "queued", output: [], usage: null });
    expect(toAnswer(after(started))).toMatchObject({ status: "in_progress", output: [] });
    expect(toAnswer(after(started, delta("Hel"), delta("lo")))).toMatchObject({
      status: "in_progress",
      output: [{ status: "in_progress", content: [{ text: "Hello" }] }],
    });
  });

  it("has what counts of a response that was begun again", () => {
    const rewind = { type: "output.rewind", to_seq: 1, reason: "worker_lost" };
    const end = { type: "generation.completed", finish_reason: "stop", usage };
    const state = after(started, delta("Hel"), { ...started, attempt: 2 }, rewind, delta("Hello"), end);
    expect(toAnswer(state)).toMatchObject({
      status: "completed",
      output: [{ status: "completed", content: [{ text: "Hello" }] }],
    });
  });

  it("says what it was created with, as far as that is told again", () => {
    const created = { metadata: { team: "a" }, previousResponse: "resp_1", conversation: "conv_1" };
    expect(toAnswer(after(started), created)).toMatchObject({
      metadata: { team: "a" },
      previous_response_id: "resp_1",
      conversation: { id: "conv_1" },
      instructions: null,
      tools: [],
    });
  });

  it("has items whose ids name it", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        for (const { id } of itemsIn(stateOf(log))) expect(generationOfItem(id)).toBe(RUN.generation);
      }),
    );
    for (const id of [
      "msg_1",
      `msg_${"z".repeat(26)}1_0`,
      `msg_${"0".repeat(26)}1000_0`,
      `xx_${"0".repeat(26)}1_0`,
    ])
      expect(generationOfItem(id)).toBeUndefined();
  });
});
