import { capabilitiesOf, type Dialect } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { firstUnmet } from "../../domain/fit-model.ts";
import { learnCapabilities } from "../learn-capabilities.ts";
import { startOpenaiWorld } from "../testing/openai-world.ts";

const LLAMA = {
  data: [{ id: "/models/a.gguf", architecture: { input_modalities: ["text", "image", "smell"] } }],
};
const MISTRAL = {
  data: [
    { id: "org/other", capabilities: { vision: false, audio: true } },
    { id: "org/m", capabilities: { vision: true, function_calling: true, audio: false } },
  ],
};
const signal = new AbortController().signal;

describe("what a model server says that its model can do", () => {
  test.each<[Dialect, object, string[]]>([
    ["llama.cpp", LLAMA, ["images"]],
    ["mistral", MISTRAL, ["images"]],
    ["llama.cpp", { data: [] }, []],
    ["llama.cpp", { error: "no such path" }, []],
  ])("is added to what every model of it can: %s, %j", async (dialect, list, more) => {
    await using world = await startOpenaiWorld({ dialect, apiKey: "sk-1" });
    expect(world.engine.isLearning).toBe(true);
    world.server.willAnswer({
      headers: { "content-type": "application/json" },
      body: [JSON.stringify(list)],
    });
    expect(await world.engine.learn!(signal)).toBe(true);
    expect(world.engine).toMatchObject({
      isLearning: false,
      capabilities: new Set([...capabilitiesOf(dialect), ...more]),
    });
    expect(world.server.requests).toMatchObject([
      { path: "/v1/models", headers: { authorization: "Bearer sk-1" } },
    ]);
  });

  test("is not taken where the models file says that it can't", async () => {
    await using world = await startOpenaiWorld({ dialect: "llama.cpp", denied: ["images"] });
    world.server.willAnswer({ body: [JSON.stringify(LLAMA)] });
    await world.engine.learn!(signal);
    expect(world.engine.capabilities).toEqual(capabilitiesOf("llama.cpp"));
  });

  test("is asked for until the server answers; until then a request is left to it", async () => {
    await using world = await startOpenaiWorld({ dialect: "llama.cpp" });
    const request = { needs: ["images"], request: {} };
    world.server.willAnswer({ status: 503 });
    world.server.willAnswer({ end: "dropped" });
    expect([await world.engine.learn!(signal), await world.engine.learn!(signal)]).toEqual([false, false]);
    expect(firstUnmet(world.engine, request)).toBeUndefined();
    world.server.willAnswer({ body: [JSON.stringify({ data: [] })] });
    await learnCapabilities(world.engine, signal);
    expect(firstUnmet(world.engine, request)).toBe("images");
  });

  test("is not asked of servers that do not say it", async () => {
    await using world = await startOpenaiWorld({ dialect: "vllm" });
    await learnCapabilities(world.engine, signal);
    expect(world.engine).toMatchObject({ isLearning: false, capabilities: capabilitiesOf("vllm") });
    expect(world.server.requests).toEqual([]);
  });
});
