import { describe, expect, test } from "vitest";
import { createGuardModel } from "./guard-model.ts";
import { startClassifierServer } from "./testing/classifier-server.ts";

async function startWorld() {
  const server = await startClassifierServer();
  const options = { name: "guard", model: "meta-llama/Llama-Guard-3-8B", connectTimeoutMs: 10_000 };
  const classifier = createGuardModel({ ...options, baseUrl: server.baseUrl });
  const ask = async (subject: { input: string; prompt?: string }) => {
    server.willAnswer({ body: { choices: [{ message: { content: "\n\nunsafe\nS9" } }] } });
    return classifier.classify(subject, new AbortController().signal);
  };
  return {
    server,
    ask,
    async [Symbol.asyncDispose]() {
      await classifier.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("a guard model", () => {
  test("is asked about the assistant's answer to what was asked, with logprobs", async () => {
    await using world = await startWorld();
    expect(await world.ask({ input: "the answer", prompt: "the question" })).toMatchObject({
      flagged: ["S9", "unsafe"],
    });
    expect(world.server.requests).toMatchObject([
      {
        path: "/v1/chat/completions",
        body: {
          model: "meta-llama/Llama-Guard-3-8B",
          messages: [
            { role: "user", content: "the question" },
            { role: "assistant", content: "the answer" },
          ],
          max_tokens: 64,
          temperature: 0,
          logprobs: true,
          top_logprobs: 5,
        },
      },
    ]);
  });

  test("gets a user's turn even where nothing was asked, and the end of what is too long", async () => {
    await using world = await startWorld();
    await world.ask({ input: "x" });
    await world.ask({ input: "x", prompt: `${"a".repeat(9_000)}b` });
    const prompts = world.server.requests.map(
      ({ body }) => (body["messages"] as { content: string }[])[0]!.content,
    );
    expect(prompts).toEqual(["", `${"a".repeat(7_999)}b`]);
  });
});
