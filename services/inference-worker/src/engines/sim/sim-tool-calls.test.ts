import type { OutputItem } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EngineEvent, type EngineRequest, NO_PREFIX, NO_PROGRESS, type Progress } from "../engine.ts";
import { collect } from "../testing/collect.ts";
import { createJumpingClock } from "../testing/jumping-clock.ts";
import { createSimEngine } from "./sim-engine.ts";

const engine = createSimEngine({ clock: createJumpingClock() });
const signal = new AbortController().signal;

function requestOf(options: EngineRequest["options"], tools?: string[]): EngineRequest {
  return {
    model: "sim",
    input: "Hi",
    ...(options && { options }),
    ...(tools && { tools: tools.map((name) => ({ name })) }),
  };
}

const run = (request: EngineRequest, progress: Progress = NO_PROGRESS) =>
  collect(engine.generate(request, { ...progress, signal }));

const callsOf = (events: readonly EngineEvent[]) => events.filter((event) => event.type === "tool_call");

/** The progress after a run that has asked for tools, each of which has answered. */
function toAnswered({ turns, prefix }: Progress, events: readonly EngineEvent[]): Progress {
  const said = events.filter((event) => event.type === "text");
  const text = prefix.text + said.map((event) => event.text).join("");
  const calls = callsOf(events).map(({ callId, name, arguments: args }) => ({
    call: { type: "tool_call", call_id: callId!, name, arguments: args } as const,
    result: { type: "tool_result", call_id: callId!, output: { ok: true } } as const,
  }));
  const items: OutputItem[] = [
    ...(text === "" ? [] : [{ type: "text", text, tokens: prefix.tokens + said.length } as const]),
    ...calls.map(({ call }) => call),
    ...calls.map(({ result }) => result),
  ];
  return { turns: [...turns, ...items], prefix: NO_PREFIX };
}

describe("the simulator, told to call tools,", () => {
  test("asks for the request's tools in turn, in place of a token, and finishes with tool_calls", async () => {
    const request = requestOf({ tokens: 5, tool_call_after_tokens: 2, tool_calls: 3 }, [
      "get_time",
      "get_place",
    ]);
    const { events } = await run(request);
    expect(events.slice(2)).toEqual([
      {
        type: "tool_call",
        callId: "sim_call_2_0",
        name: "get_time",
        arguments: '{"after_tokens":2,"call":0}',
      },
      expect.objectContaining({ callId: "sim_call_2_1", name: "get_place" }),
      expect.objectContaining({ callId: "sim_call_2_2", name: "get_time" }),
      { type: "finish", reason: "tool_calls" },
    ]);
  });

  test("asks for one of its own when the request has none", async () => {
    const { events } = await run(requestOf({ tool_call_after_tokens: 0 }));
    expect(callsOf(events)).toMatchObject([{ name: "sim_tool" }]);
    expect(events).toHaveLength(2);
  });

  test("says with tools, interrupted anywhere, what it says without, and asks for them once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ tokens: fc.nat(60), calls: fc.integer({ min: 1, max: 3 }), at: fc.nat(60) }),
        fc.nat(),
        async ({ tokens, calls, at }, cutAt) => {
          const whole = await run(requestOf({ tokens }));
          const callAt = at % (tokens + 1);
          const request = requestOf({ tokens, tool_call_after_tokens: callAt, tool_calls: calls });
          const begun = await run(request);
          expect(callsOf(begun.events)).toHaveLength(calls);
          const answered = toAnswered(NO_PROGRESS, begun.events);
          const rest = await run(request, answered);
          expect([begun.text + rest.text, rest.events.at(-1)]).toEqual([whole.text, whole.events.at(-1)]);
          expect(callsOf(rest.events)).toEqual([]);

          const cut = cutAt % rest.events.length;
          const text = whole.text.slice(begun.text.length).slice(0, textOf(rest.events.slice(0, cut)).length);
          const resumed = await run(request, { ...answered, prefix: { text, tokens: cut } });
          expect(resumed.events).toEqual(rest.events.slice(cut));
        },
      ),
    );
  });

  test("makes the same calls when it is interrupted before them", async () => {
    const request = requestOf({ tokens: 9, tool_call_after_tokens: 6, tool_calls: 2 });
    const { events } = await run(request);
    for (const cut of [0, 3, 6]) {
      const prefix = { text: textOf(events.slice(0, cut)), tokens: cut };
      expect((await run(request, { turns: [], prefix })).events).toEqual(events.slice(cut));
    }
  });
});

function textOf(events: readonly EngineEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}
