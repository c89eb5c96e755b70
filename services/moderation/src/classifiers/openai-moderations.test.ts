import { describe, expect, test } from "vitest";
import { createOpenaiModerations } from "./openai-moderations.ts";
import { startClassifierServer } from "./testing/classifier-server.ts";

const MODERATION = {
  id: "modr-1",
  model: "omni-moderation-latest",
  results: [
    {
      flagged: true,
      categories: { harassment: false, "violence/graphic": true, illicit: null },
      category_scores: { harassment: 0.01, "violence/graphic": 0.93, illicit: null },
      category_applied_input_types: { "violence/graphic": ["text"] },
    },
  ],
};

async function startWorld(apiKey?: string) {
  const server = await startClassifierServer();
  const options = { name: "omni", model: "omni-moderation-latest", connectTimeoutMs: 10_000, apiKey };
  const classifier = createOpenaiModerations({ ...options, baseUrl: server.baseUrl });
  return {
    server,
    classifier,
    classify: (input: string) =>
      classifier.classify({ input, prompt: "never sent" }, new AbortController().signal),
    async [Symbol.asyncDispose]() {
      await classifier.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("OpenAI's moderations", () => {
  test("are asked for the window with the key", async () => {
    await using world = await startWorld("sk-123");
    world.server.willAnswer({ body: MODERATION });
    await world.classify("some text");
    expect(world.server.requests).toMatchObject([
      {
        path: "/v1/moderations",
        headers: { authorization: "Bearer sk-123", "content-type": "application/json" },
        body: { model: "omni-moderation-latest", input: "some text" },
      },
    ]);
  });

  test("give the flagged categories and all scores, and leave out what was not judged", async () => {
    await using world = await startWorld();
    world.server.willAnswer({ body: MODERATION });
    expect(await world.classify("some text")).toEqual({
      kind: "judged",
      flagged: ["violence/graphic"],
      scores: { harassment: 0.01, "violence/graphic": 0.93 },
    });
    expect(world.server.requests[0]!.headers).not.toHaveProperty("authorization");
  });

  test("give a category of their own to a flag without one", async () => {
    await using world = await startWorld();
    world.server.willAnswer({ body: { results: [{ flagged: true, categories: { hate: false } }] } });
    expect(await world.classify("x")).toEqual({ kind: "judged", flagged: ["flagged"], scores: {} });
  });

  test.each([{}, { results: [] }, { results: [{ flagged: "yes", categories: {} }] }, [], null])(
    "are invalid as %j",
    async (body) => {
      await using world = await startWorld();
      world.server.willAnswer({ body });
      expect(await world.classify("x")).toMatchObject({ kind: "unjudged", reason: "invalid" });
    },
  );

  test("are asked with well-formed text where an event ends within a surrogate pair", async () => {
    await using world = await startWorld();
    world.server.willAnswer({ body: MODERATION });
    await world.classify("half \ud83d");
    expect(world.server.requests[0]!.body).toMatchObject({ input: "half \ufffd" });
  });
});
