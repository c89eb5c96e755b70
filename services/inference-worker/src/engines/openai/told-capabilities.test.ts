import { capabilitiesOf, type Dialect } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { firstUnmet } from "../../domain/fit-model.ts";
import { startOpenaiWorld } from "../testing/openai-world.ts";

const LLAMA = {
  data: [
    {
      id: "/models/a.gguf",
      architecture: { input_modalities: ["text", "image", "smell"] },
      meta: { n_ctx: 4_096, n_ctx_train: 32_768 },
    },
  ],
};
const OLDER_LLAMA = { data: [{ id: "/models/a.gguf", meta: { n_ctx_train: 32_768 } }] };
const PROPS = { default_generation_settings: { n_ctx: 8_192 }, total_slots: 2 };
const MISTRAL = {
  data: [
    { id: "org/other", capabilities: { vision: false, audio: true }, max_context_length: 1_024 },
    {
      id: "org/m",
      capabilities: { vision: true, function_calling: true, audio: false },
      max_context_length: 131_072,
    },
  ],
};
const VLLM = {
  data: [
    { id: "org/m", max_model_len: 40_960 },
    { id: "lora", max_model_len: null, parent: "org/m" },
  ],
};
const OLLAMA = {
  capabilities: ["completion", "tools", "vision", "thinking"],
  parameters: 'num_ctx                        16384\nstop                           "</s>"',
  model_info: { "general.architecture": "gemma3", "gemma3.context_length": 131_072 },
};
const STUDIO = {
  data: [
    { id: "other", type: "llm", max_context_length: 4_096 },
    { id: "org/m", type: "vlm", state: "loaded", max_context_length: 32_768, loaded_context_length: 8_192 },
  ],
};
const signal = new AbortController().signal;
const answer = (value: unknown) => ({ body: [JSON.stringify(value)] });

describe("what a model server says of its model", () => {
  test.each<[Dialect, unknown[], string[], number | undefined, string[]]>([
    ["llama.cpp", [LLAMA], ["images"], 4_096, ["/v1/models"]],
    ["llama.cpp", [OLDER_LLAMA, PROPS], [], 8_192, ["/v1/models", "/props"]],
    ["llama.cpp", [OLDER_LLAMA, { error: "off" }], [], 32_768, ["/v1/models", "/props"]],
    ["mistral", [MISTRAL], ["images"], 131_072, ["/v1/models"]],
    ["vllm", [VLLM], [], 40_960, ["/v1/models"]],
    ["sglang", [VLLM], [], 40_960, ["/v1/models"]],
    ["ollama", [OLLAMA], ["images"], 16_384, ["/api/show"]],
    ["ollama", [{ ...OLLAMA, parameters: "temperature 1" }], ["images"], 131_072, ["/api/show"]],
    ["lm-studio", [STUDIO], ["images"], 8_192, ["/api/v0/models"]],
    ["lm-studio", [{ data: STUDIO.data.slice(0, 1) }], [], 4_096, ["/api/v0/models"]],
  ])("is added to what every model of it can: %s, %j", async (dialect, answers, more, tokens, paths) => {
    await using world = await startOpenaiWorld({ dialect, apiKey: "sk-1" });
    for (const value of answers) world.server.willAnswer(answer(value));
    expect(world.engine.contextTokens).toBeUndefined();
    expect(await world.engine.learn!(signal)).toBe(true);
    expect(world.engine).toMatchObject({
      isLearning: false,
      capabilities: new Set([...capabilitiesOf(dialect), ...more]),
      contextTokens: tokens,
    });
    expect(world.server.requests.map(({ path }) => path)).toEqual(paths);
    expect(world.server.requests[0]).toMatchObject({ headers: { authorization: "Bearer sk-1" } });
  });

  test("is asked beside the last segment of a longer base URL", async () => {
    await using world = await startOpenaiWorld({ dialect: "lm-studio", path: "/studio/v1/" });
    world.server.willAnswer(answer(STUDIO));
    await world.engine.learn!(signal);
    expect(world.server.requests.map(({ path }) => path)).toEqual(["/studio/api/v0/models"]);
  });

  const NONSENSE = [
    "<html>",
    "",
    "null",
    "[]",
    '{"data":{}}',
    '{"data":[]}',
    '{"data":[null]}',
    '{"data":[{"id":7,"architecture":"x","capabilities":[1],"meta":{"n_ctx":"4096"},"max_model_len":-1,"max_context_length":1e99,"type":{}}]}',
    '{"default_generation_settings":{"n_ctx":0.5}}',
    '{"capabilities":"vision","parameters":["num_ctx 1"],"model_info":"x"}',
    '{"capabilities":["__proto__","constructor"],"parameters":"num_ctx 99999999999999999999","model_info":{"general.architecture":{},"x.context_length":512}}',
  ];
  const ASKED = ["llama.cpp", "mistral", "vllm", "sglang", "ollama", "lm-studio"] as const;
  test.each(ASKED)("changes nothing of %s where it is nonsense, or a refusal", async (dialect) => {
    for (const text of [...NONSENSE, undefined]) {
      await using world = await startOpenaiWorld({ dialect });
      const said = text === undefined ? { status: 404 } : { body: [text] };
      for (let i = 0; i < 2; i++) world.server.willAnswer(said);
      expect([text, await world.engine.learn!(signal)]).toEqual([text, true]);
      expect(world.engine).toMatchObject({ isLearning: false, capabilities: capabilitiesOf(dialect) });
      expect([text, world.engine.contextTokens]).toEqual([text, undefined]);
    }
  });

  test("is not taken where the models file says that it can't", async () => {
    await using world = await startOpenaiWorld({ dialect: "llama.cpp", denied: ["images"] });
    world.server.willAnswer(answer(LLAMA));
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
    world.server.willAnswer(answer({ data: [] }));
    expect(await world.engine.learn!(signal)).toBe(true);
    expect(firstUnmet(world.engine, request)).toBe("images");
  });

  test("leaves no request to a server that tells only how many tokens its model takes", async () => {
    await using world = await startOpenaiWorld({ dialect: "vllm" });
    world.server.willAnswer({ status: 503 });
    expect(await world.engine.learn!(signal)).toBe(false);
    expect(firstUnmet(world.engine, { needs: ["images"], request: {} })).toBe("images");
  });

  test.each(["openai", "tgi"] as const)("is not asked of servers that do not say it: %s", async (dialect) => {
    await using world = await startOpenaiWorld({ dialect });
    expect(await world.engine.learn?.(signal)).not.toBe(false);
    expect(world.engine).toMatchObject({ isLearning: false, capabilities: capabilitiesOf(dialect) });
    expect(world.server.requests).toEqual([]);
  });
});
