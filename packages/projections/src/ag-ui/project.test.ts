import { HttpAgent } from "@ag-ui/client";
import type { BaseEvent, Message } from "@ag-ui/core";
import { EventSchemas } from "@ag-ui/core/schemas";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyLog, type LogEvent } from "../any-log.fixture.ts";
import type { Frame } from "../projection.ts";
import {
  completed,
  delta,
  framesOf,
  itKeepsTheLaws,
  logOf,
  rewind,
  RUN,
  USAGE,
} from "../projection-laws.fixture.ts";
import { agUiProjection } from "./project.ts";
import { agUiSoFar, restartsOf, snapshotFrames } from "./snapshot.ts";

const projection = agUiProjection({ metadata: { "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" } });

const call = (id: string) => ({ type: "tool.call", call_id: id, name: "look_up", arguments: '{"q":1}' });

const eventsOf = (frames: readonly Frame[]) => frames.map(({ data }) => JSON.parse(data) as BaseEvent);
const told = (events: readonly LogEvent[]) => eventsOf(framesOf(projection, events).flat());
const typesOf = (events: readonly BaseEvent[]): string[] => events.map(({ type }) => type);

/** The client's messages after a stream of these frames. */
async function messagesAfter(frames: readonly Frame[], initialMessages: Message[] = []): Promise<Message[]> {
  const body = frames.map(({ data }) => `data: ${data}\n\n`).join("");
  const agent = new HttpAgent({
    url: "http://localhost/",
    threadId: "t1",
    initialMessages,
    fetch: () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } })),
  });
  await agent.runAgent({ runId: "r1" });
  return agent.messages;
}

describe("the events", () => {
  itKeepsTheLaws(projection, ({ data }) => /^{"type":"RUN_(FINISHED|ERROR)"/.test(data));

  it("fit the schemas of @ag-ui/core, and come in an order that its client takes", async () => {
    await fc.assert(
      fc.asyncProperty(anyLog, async (events) => {
        const frames = framesOf(projection, events).flat();
        for (const event of eventsOf(frames)) expect(EventSchemas.parse(event)).toEqual(event);
        await messagesAfter(frames);
      }),
    );
  });
});

describe("a run", () => {
  it("is told as its client names it", () => {
    expect(told(logOf(delta("Hel"), delta("lo"), completed()))).toEqual([
      { type: "RUN_STARTED", threadId: "t1", runId: "r1", metadata: { reprise: { model: "sim" } } },
      { type: "TEXT_MESSAGE_START", messageId: expect.any(String), role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: expect.any(String), delta: "Hel" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: expect.any(String), delta: "lo" },
      { type: "TEXT_MESSAGE_END", messageId: expect.any(String) },
      {
        type: "RUN_FINISHED",
        threadId: "t1",
        runId: "r1",
        outcome: { type: "success" },
        usage: [{ model: "sim", inputTokens: 3, outputTokens: 2, totalTokens: 5, reasoningTokens: 1 }],
        metadata: { reprise: { finishReason: "stop" } },
      },
    ]);
  });

  it("of another protocol is named by its generation", () => {
    expect(eventsOf(framesOf(agUiProjection(), logOf(completed())).flat())[0]).toMatchObject({
      threadId: RUN.generation,
      runId: RUN.generation,
    });
  });

  it("that ends with calls names those that wait", () => {
    const events = told(logOf(delta("a"), call("c1"), call("c2"), completed("tool_calls")));
    expect(events.at(-1)).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1", "c2"] } });
  });

  it.each([
    [{ type: "generation.cancelled", reason: "asked", usage: USAGE }, "cancelled"],
    [completed("content_filter"), "content_filter"],
    [
      {
        type: "generation.failed",
        error: { code: "worker_lost", message: "m", retryable: true },
        usage: USAGE,
      },
      "worker_lost",
    ],
  ])("ends with RUN_ERROR where its text is not whole: %j", (end, code) => {
    expect(told(logOf(delta("a"), end)).at(-1)).toMatchObject({ type: "RUN_ERROR", code });
  });

  it("that was stopped by moderation says so, however it ends", () => {
    const halted = { type: "moderation.halted", from_seq: 2, replacement: "", rule: "r", category: "c" };
    const events = logOf(delta("a"), halted, { type: "generation.cancelled", reason: "asked", usage: USAGE });
    expect(told(events).at(-1)).toMatchObject({ code: "content_filter" });
  });

  it("continues over a takeover that takes nothing back", () => {
    const events = told(logOf(delta("a"), rewind(2), delta("b"), completed()));
    expect(typesOf(events)).not.toContain("RUN_ERROR");
  });

  it("is over with the code `restarted` where words that were sent do not count any more", () => {
    const events = told(logOf(delta("a"), rewind(1), delta("b"), completed()));
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "restarted" });
  });

  it("is over likewise where an annotation or a blob that was sent does not count any more", () => {
    const shown = [
      { type: "output.annotation", kind: "url", url: "https://a.example" },
      { type: "output.blob", kind: "image" },
    ] as const;
    for (const each of shown) {
      const events = told(logOf(each, rewind(0), completed()));
      expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "restarted" });
    }
  });

  it("gives its client reasoning, the text, the calls and their answers as messages", async () => {
    const events = logOf(
      { type: "reasoning.delta", text: "Hm." },
      { type: "reasoning.sealed", encrypted: "c2U=", id: "rs_1" },
      delta("Look"),
      call("c1"),
      { type: "tool.result", call_id: "c1", output: { found: 1 } },
      delta("Done."),
      completed(),
    );
    expect(await messagesAfter(framesOf(projection, events).flat())).toMatchObject([
      { role: "reasoning", content: "Hm.", encryptedValue: '{"encrypted":"c2U=","id":"rs_1"}' },
      { role: "assistant", content: "Look", toolCalls: [{ id: "c1", function: { arguments: '{"q":1}' } }] },
      { role: "tool", toolCallId: "c1", content: '{"found":1}' },
      { role: "assistant", content: "Done." },
    ]);
  });
});

describe("a late joiner", () => {
  /** Frames for a reader that joins after `at` events. */
  function joined(events: readonly LogEvent[], at: number, history: readonly Message[]): Frame[] {
    const before = events.slice(0, at);
    const said = before.reduce((state, event) => soFar.project(state, event).state, soFar.begin(RUN));
    const passes = restartsOf(said);
    const late = agUiProjection({ metadata: { "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" }, passes });
    let state = late.begin(RUN);
    for (const event of before) state = late.project(state, event).state;
    const frames = [...snapshotFrames(state, said, history)];
    for (const event of events.slice(at)) {
      const next = late.project(state, event);
      frames.push(...next.frames);
      state = next.state;
    }
    return frames;
  }
  const soFar = agUiSoFar({ "ag_ui.thread_id": "t1", "ag_ui.run_id": "r1" });

  it("has the same messages as one who was there, wherever it comes", async () => {
    const history: Message[] = [{ id: "u1", role: "user", content: "Hi" }];
    await fc.assert(
      fc.asyncProperty(anyLog, fc.nat(), async (events, cut) => {
        fc.pre(!typesOf(told(events)).includes("RUN_ERROR"));
        // One who was there keeps what was not heard.
        fc.pre(!events.some((event) => event.type === "output.rewind" && event["reason"] === "interrupted"));
        const whole = await messagesAfter(framesOf(projection, events).flat(), structuredClone(history));
        const frames = joined(events, cut % (events.length + 1), history);
        for (const event of eventsOf(frames)) EventSchemas.parse(event);
        expect(contentOf(await messagesAfter(frames, structuredClone(history)))).toEqual(contentOf(whole));
      }),
    );
  });

  it("that has a part of the run already is given it once", async () => {
    const events = logOf(delta("Hel"), delta("lo"), completed());
    const partial = await messagesAfter(framesOf(projection, events.slice(0, 2)).flat());
    const after = await messagesAfter(joined(events, 2, partial), structuredClone(partial));
    expect(after).toMatchObject([{ role: "assistant", content: "Hello" }]);
  });

  it("after a restart is given the text that counts, and what follows", async () => {
    const events = logOf(delta("wrong"), rewind(1), delta("right"), delta("!"), completed());
    expect(await messagesAfter(joined(events, 4, []))).toMatchObject([{ content: "right!" }]);
  });

  it("after an interrupt is given what was heard, and what follows", async () => {
    const interrupt = { type: "output.rewind", to_seq: 2, reason: "interrupted" } as const;
    const events = logOf(delta("heard"), delta(", not heard"), interrupt, delta("!"), completed());
    expect(await messagesAfter(joined(events, 4, []))).toMatchObject([{ content: "heard!" }]);
  });

  it("of a run that is over is given its end", () => {
    const events = logOf(delta("a"), completed());
    expect(typesOf(eventsOf(joined(events, events.length, [])))).toEqual([
      "RUN_STARTED",
      "MESSAGES_SNAPSHOT",
      "RUN_FINISHED",
    ]);
  });
});

/** A text message that has said nothing is there or not. */
function contentOf(messages: readonly Message[]): object[] {
  return messages
    .filter((message) => !(message.role === "assistant" && !message.content && !message.toolCalls))
    .map((message) =>
      message.role === "assistant" && !message.content ? { ...message, content: undefined } : message,
    );
}
