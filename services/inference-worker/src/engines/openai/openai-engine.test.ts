import type { TurnItem } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { content, delta, DONE, finish, frame, ROLE, toolCalls, usage } from "../testing/chat-frames.ts";

import { REQUEST, startOpenaiWorld } from "../testing/openai-world.ts";
import { NO_PROGRESS } from "../engine.ts";

const HELLO = [ROLE, content("Hel"), content("lo"), finish(), usage(12, 2), DONE];

describe("the OpenAI engine", () => {
  test("sends the request as a streamed chat completion with the key, and gives what comes", async () => {
    await using world = await startOpenaiWorld({ apiKey: "sk-123" });
    world.server.willAnswer({ body: HELLO });
    const { text, events } = await world.run();
    expect(text).toBe("Hello");
    expect(events.at(-1)).toEqual({
      type: "finish",
      reason: "stop",
      usage: { input_tokens: 12, output_tokens: 2 },
    });
    expect(world.server.requests).toMatchObject([
      {
        path: "/v1/chat/completions",
        headers: {
          authorization: "Bearer sk-123",
          "content-type": "application/json",
          accept: "text/event-stream",
        },
        body: { model: "org/m", messages: [{ role: "user", content: "Hi" }], stream: true },
      },
    ]);
  });

  test("sends the run's place in its trace with the request, and says what the server calls its answer and model, once", async () => {
    await using world = await startOpenaiWorld();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const told: object[] = [];
    world.server.willAnswer({ body: HELLO });
    await world.run(REQUEST, { traceparent, onAnswer: (answer) => told.push(answer) });
    expect(told).toEqual([{ id: "chatcmpl-1", model: "m" }]);
    world.server.willAnswer({ body: HELLO });
    await world.run();
    const [traced, untraced] = world.server.requests;
    expect(traced!.headers).toMatchObject({ traceparent });
    expect(untraced!.headers).not.toHaveProperty("traceparent");
  });

  test.each(["reasoning", "reasoning_content"])(
    "gives a server back what it sent with a call, and what its model thought before it as %s, as it called it",
    async (field) => {
      await using world = await startOpenaiWorld();
      const extra_content = { google: { thought_signature: "c2VhbGVk" } };
      const call = { index: 0, id: "a", function: { name: "look_up", arguments: "{}" }, extra_content };
      const thought = delta({ [field]: "I need to look." });
      world.server.willAnswer({ body: [ROLE, thought, toolCalls(call), finish("tool_calls"), DONE] });
      const { events } = await world.run();
      expect(events.find(({ type }) => type === "tool_call")).toMatchObject({ providerState: extra_content });
      const turns: TurnItem[] = [
        { type: "reasoning", text: "I need to look." },
        { type: "tool_call", call_id: "a", name: "look_up", arguments: "{}", provider_state: extra_content },
        { type: "tool_result", call_id: "a", output: 42 },
      ];
      world.server.willAnswer({ body: HELLO });
      await world.run(REQUEST, { turns });
      expect(world.server.requests[1]?.body["messages"]).toEqual([
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: null,
          [field]: "I need to look.",
          tool_calls: [
            { id: "a", type: "function", function: { name: "look_up", arguments: "{}" }, extra_content },
          ],
        },
        { role: "tool", tool_call_id: "a", content: "42" },
      ]);
    },
  );

  test("leaves out a name of an answer that is no text, or longer than any server's", async () => {
    await using world = await startOpenaiWorld();
    const told: object[] = [];
    const named = (id: unknown, model: unknown) =>
      frame({ id, model, choices: [{ index: 0, delta: { content: "Hi" } }] });
    const body = [named(1, ""), named("i".repeat(257), "m"), named("late", "late"), finish(), DONE];
    world.server.willAnswer({ body });
    const { text } = await world.run(REQUEST, { onAnswer: (answer) => told.push(answer) });
    expect(text).toBe("HiHiHi");
    expect(told).toEqual([{ id: undefined, model: "m" }]);
  });

  test("gives each word as it comes, not when the next one does", async () => {
    await using world = await startOpenaiWorld();
    const gate = Promise.withResolvers<void>();
    world.server.willAnswer({ body: [ROLE, content("Hel"), gate.promise, ...HELLO.slice(2)] });
    let text = "";
    for await (const event of world.engine.generate(REQUEST, {
      ...NO_PROGRESS,
      signal: new AbortController().signal,
    })) {
      if (event.type === "text") text += event.text;
      gate.resolve();
    }
    expect(text).toBe("Hello");
  });

  test("does not ask for what the prefix has used up already", async () => {
    await using world = await startOpenaiWorld({ continuation: "continue_final_message" });
    const { events } = await world.run(
      { ...REQUEST, max_output_tokens: 3 },
      { prefix: { text: "a b c", tokens: 3 } },
    );
    expect(events).toEqual([
      { type: "finish", reason: "length", usage: { input_tokens: null, output_tokens: 0 } },
    ]);
    expect(world.server.requests).toEqual([]);
  });

  test("continues after a prefix", async () => {
    await using world = await startOpenaiWorld({ continuation: "continue_final_message" });
    world.server.willAnswer({ body: [content("lo"), finish(), usage(15, 1), DONE] });
    const { text, events } = await world.run(REQUEST, { prefix: { text: "Hel", tokens: 3 } });
    expect(text).toBe("lo");
    expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 12, output_tokens: 1 } });
    expect(world.server.requests[0]!.body).toMatchObject({ continue_final_message: true });
  });

  test("refuses options that it keeps for itself, without asking the upstream", async () => {
    await using world = await startOpenaiWorld();
    const options = { stream: false };
    const refusal = { code: "invalid_request", param: "options.stream" };
    expect((await world.run({ ...REQUEST, options })).error).toMatchObject(refusal);
    expect(world.server.requests).toEqual([]);
  });

  test("says that pieces of a tool call come, which take their time, before it gives the call", async () => {
    await using world = await startOpenaiWorld();
    const gate = Promise.withResolvers<void>();
    const piece = toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{" } });
    const rest = toolCalls({ index: 0, function: { arguments: "}" } });
    world.server.willAnswer({ body: [piece, gate.promise, rest, finish("tool_calls"), DONE] });
    const { events } = await world.run(REQUEST, { onPiece: () => gate.resolve() });
    expect(events).toMatchObject([{ type: "tool_call", arguments: "{}" }, { type: "finish" }]);
  });
});
