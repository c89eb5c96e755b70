import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyLog, type LogEvent } from "../any-log.fixture.ts";
import { isUntold } from "../is-untold.ts";
import { completed, delta, type Draft, rewind, RUN, STARTED, toLog } from "../projection-laws.fixture.ts";
import { itemsIn, responsesAnswer, toAnswer } from "./answer.ts";
import { generationOfItem } from "./output/items.ts";
import { openaiResponses } from "./project.ts";

function stateOf(log: readonly LogEvent[]) {
  return log.reduce(
    (state, event) => responsesAnswer.project(state, event).state,
    responsesAnswer.begin(RUN),
  );
}
const after = (...drafts: readonly Draft[]) => stateOf(toLog(drafts));

describe("a response as one body", () => {
  it("is what the last event of its stream has, unless it was begun again or interrupted", () => {
    fc.assert(
      fc.property(anyLog, (log) => {
        // A stream takes back nothing that it has sent.
        fc.pre(!log.some((event) => event.type === "output.rewind" && isUntold(event)));
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
    expect(toAnswer(after(STARTED))).toMatchObject({ status: "in_progress", output: [] });
    expect(toAnswer(after(STARTED, delta("Hel"), delta("lo")))).toMatchObject({
      status: "in_progress",
      output: [{ status: "in_progress", content: [{ text: "Hello" }] }],
    });
  });

  it("has what counts of a response that was begun again", () => {
    const again = { ...STARTED, attempt: 2 };
    const state = after(STARTED, delta("Hel"), again, rewind(1), delta("Hello"), completed());
    expect(toAnswer(state)).toMatchObject({
      status: "completed",
      output: [{ status: "completed", content: [{ text: "Hello" }] }],
    });
  });

  it("says what it was created with, as far as that is told again", () => {
    const created = { metadata: { team: "a" }, previousResponse: "resp_1", conversation: "conv_1" };
    expect(toAnswer(after(STARTED), created)).toMatchObject({
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
