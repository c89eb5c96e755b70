import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMAND_CAPABILITIES } from "@reprise/protocol";
import { createEngines, loadEngines } from "./create-engines.ts";
import { loadModelsFile, parseModelsFile } from "./models-file.ts";

const KEY = "sk-0123456789abcdef";
const env = { VLLM_API_KEY: KEY, EMPTY: "", SPLIT: "a\nb" };
const LLAMA = {
  engine: "openai",
  base_url: "http://127.0.0.1:8000/v1",
  upstream_model: "meta-llama/Llama-3.1-8B-Instruct",
};

function parse(models: unknown) {
  return parseModelsFile(JSON.stringify({ models }), { source: "models.json", env });
}

function problemsOf(text: string): string[] {
  try {
    parseModelsFile(text, { source: "models.json", env });
  } catch (error) {
    expect(error).toMatchObject({ code: "config_invalid", param: "models.json" });
    expect((error as Error).message).not.toContain(KEY);
    return (error as Error).message
      .split("\n")
      .slice(1)
      .map((line) => line.trim());
  }
  throw new Error("the file was accepted");
}

const problemsWith = (fields: object) =>
  problemsOf(JSON.stringify({ models: { llama: { ...LLAMA, ...fields } } }));

const WHISPER = { engine: "command", command: ["whisper-cli", "-f", "-"] };

describe("a models file", () => {
  test("gives models with their engines, keys from the environment, and defaults", () => {
    const models = parse({
      sim: { engine: "sim", slots: 3 },
      llama: {
        ...LLAMA,
        fallback: "meta/llama",
        api_key_env: "VLLM_API_KEY",
        continuation: "continue_final_message",
        idle_timeout_ms: 5_000,
        servers: 4,
      },
      "meta/llama": { ...LLAMA, max_tokens_field: "max_completion_tokens", max_output_tokens: 32_000 },
    });
    expect([...models.keys()]).toEqual(["sim", "llama", "meta/llama"]);
    expect(models.get("sim")).toEqual({ engine: "sim", slots: 3 });
    expect(models.get("llama")).toMatchObject({
      engine: "openai",
      fallback: "meta/llama",
      openai: {
        baseUrl: "http://127.0.0.1:8000/v1",
        upstreamModel: "meta-llama/Llama-3.1-8B-Instruct",
        apiKey: KEY,
        continuation: "continue_final_message",
        maxTokensField: "max_tokens",
        idleTimeoutMs: 5_000,
        servers: 4,
      },
    });
    expect(models.get("meta/llama")).toMatchObject({
      openai: {
        apiKey: undefined,
        continuation: "none",
        maxOutputTokens: 32_000,
        maxTokensField: "max_completion_tokens",
        servers: 1,
      },
    });
  });

  test("may give a program, with the variables that it names", () => {
    const models = { whisper: { ...WHISPER, env: ["MODEL_DIR"], max_memory_mb: 2_000 } };
    const parsed = parseModelsFile(JSON.stringify({ models }), {
      source: "models.json",
      env: { PATH: "/bin", HOME: "/root", MODEL_DIR: "/models" },
    });
    expect(parsed.get("whisper")).toMatchObject({
      engine: "command",
      command: {
        command: ["whisper-cli", "-f", "-"],
        environment: { PATH: "/bin", MODEL_DIR: "/models" },
        maxMemoryMb: 2_000,
        maxOutputBytes: 1_048_576,
        capabilities: COMMAND_CAPABILITIES,
      },
    });
  });

  test.each([
    [{ command: [] }, "command[0]: "],
    [{ command: "cat | tr" }, "command: "],
    [{ command: ["bin/whisper"] }, "command[0]: must be an absolute path, or a name to find on PATH"],
    [{ env: ["ABSENT"] }, "env[0]: is not in the environment"],
    [{ max_memory_mb: 0 }, "max_memory_mb: "],
  ])("is refused for the program %j", (fields, problem) => {
    const [found, ...others] = problemsOf(JSON.stringify({ models: { whisper: { ...WHISPER, ...fields } } }));
    expect([found, others]).toEqual([expect.stringContaining(`models.whisper.${problem}`), []]);
  });

  test("may give several servers of one model, and when one of them is left alone", () => {
    const { base_url: one, ...model } = LLAMA;
    const health = { path: "/health", interval_ms: 1_000, eject_after: 5, eject_ms: 2_000 };
    const base_urls = [one, "http://127.0.0.1:8001/v1", "https://gpu.example/v1"];
    expect(parse({ llama: { ...model, base_urls, health } }).get("llama")).toMatchObject({
      openai: {
        baseUrl: one,
        moreBaseUrls: base_urls.slice(1),
        health: { path: "/health", intervalMs: 1_000, ejectAfter: 5, ejectMs: 2_000 },
        hasAffinity: true,
      },
    });
    const fields = { affinity: "none", cache_salt: "tenant" };
    expect(parse({ llama: { ...LLAMA, ...fields } }).get("llama")).toMatchObject({
      openai: { hasAffinity: false, cacheSalt: "tenant" },
    });
  });

  test.each<[object, string]>([
    [{ base_urls: ["http://a/v1"] }, "base_url: either this or base_urls must be given"],
    [{ base_url: undefined }, "base_url: either this or base_urls must be given"],
    [
      { base_url: undefined, base_urls: ["http://a/v1", "ftp://b"] },
      "base_urls[1]: must be an http or https URL without credentials, query and fragment",
    ],
    [
      { base_url: undefined, base_urls: ["http://a/v1", "http://b/v1", "http://a/v1/"] },
      "base_urls[2]: is given twice",
    ],
    [{ cache_salt: "user" }, 'cache_salt: Invalid option: expected one of "tenant"|"none"'],
    [{ health: { path: "models" } }, "health.path: must be a path that begins with /"],
  ])("is refused for the addresses %j", (fields, problem) => {
    expect(problemsWith(fields)).toEqual([`models.llama.${problem}`]);
  });

  test("is refused with every problem at once, each by its path", () => {
    const problems = problemsOf(
      JSON.stringify({
        models: {
          sim: { engine: "sim", slots: 0, tokens: 5, fallback: "sim" },
          llama: {
            ...LLAMA,
            base_url: "ftp://host",
            api_key_env: "ABSENT",
            fallback: "absent",
            continuation: "maybe",
          },
          "a b": { engine: "vllm" },
          [`x${"y".repeat(64)}`]: { engine: "sim" },
        },
        version: 1,
      }),
    );
    const paths = new Set(problems.map((problem) => problem.split(": ")[0]));
    expect(problems).toHaveLength(paths.size);
    expect(paths).toEqual(
      new Set([
        "version",
        "models.sim.slots",
        "models.sim.tokens",
        "models.sim.fallback",
        "models.llama.base_url",
        "models.llama.api_key_env",
        "models.llama.fallback",
        "models.llama.continuation",
        'models["a b"].engine',
        `models.x${"y".repeat(64)}`,
      ]),
    );
  });

  test.each([
    [{ fallback: "sim" }, 'models.llama.fallback: names "sim", which is no model of the file'],
    [{ fallback: "llama" }, "models.llama.fallback: names the model itself"],
    [{ fallback: 3 }, "models.llama.fallback: Invalid input: expected string, received number"],
    [
      { api_key_env: "ABSENT" },
      "models.llama.api_key_env: names ABSENT, which the environment does not have",
    ],
    [{ api_key_env: "EMPTY" }, "models.llama.api_key_env: names EMPTY, which the environment does not have"],
    [{ api_key_env: "SPLIT" }, "models.llama.api_key_env: names SPLIT, which is not visible ASCII"],
    [{ engine: "vllm" }, "models.llama.engine: must name an engine: sim, openai, realtime or command"],
  ])("is refused for a model with %j", (fields, problem) => {
    expect(problemsWith(fields)).toEqual([problem]);
  });

  test.each(["127.0.0.1:8000", "http://u:p@host/v1", "http://host/v1?a=b", "http://host/v1#a", "/v1", ""])(
    "is refused for the base URL %j",
    (base_url) => {
      const problem =
        "models.llama.base_url: must be an http or https URL without credentials, query and fragment";
      expect(problemsWith({ base_url })).toEqual([problem]);
    },
  );

  test("that is not JSON is refused by its name", () => {
    expect(() => parseModelsFile("{", { source: "models.json", env })).toThrow(/^models\.json is not JSON/);
  });

  test("is read from disk, and its absence is a problem of the configuration", async () => {
    const dir = await mkdtemp(join(tmpdir(), "reprise-models-"));
    const path = join(dir, "models.json");
    await expect(loadModelsFile(path, env)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("can't be read"),
    });
    await writeFile(path, JSON.stringify({ models: { llama: LLAMA } }));
    expect([...(await loadModelsFile(path, env)).keys()]).toEqual(["llama"]);
    await rm(dir, { recursive: true });
  });
});

test("without a models file there is the simulator, as sim", async () => {
  expect(await loadModelsFile(undefined, env)).toEqual(new Map([["sim", { engine: "sim" }]]));
});

test("a model gets an engine of its own for its fallback, whose own fallback is not followed", async () => {
  const engines = createEngines(
    parse({
      llama: { ...LLAMA, fallback: "small" },
      small: { ...LLAMA, fallback: "sim" },
      sim: { engine: "sim" },
    }),
    1,
  );
  const { fallback } = engines.get("llama")!;
  expect(fallback).toEqual({ model: "small", engine: expect.objectContaining({ name: "openai" }) });
  expect(fallback!.engine).not.toBe(engines.get("small")!.engine);
  expect(engines.get("small")!.fallback).toMatchObject({ model: "sim", engine: { name: "sim" } });
  expect(engines.get("sim")).not.toHaveProperty("fallback");
});

test("every model gets an engine, and the default number of slots unless it has its own", async () => {
  const engines = createEngines(parse({ sim: { engine: "sim", slots: 3 }, llama: LLAMA }), 256);
  expect([...engines].map(([name, { engine, slots }]) => [name, engine.name, slots])).toEqual([
    ["sim", "sim", 3],
    ["llama", "openai", 256],
  ]);
  await Promise.all([...engines.values()].map(({ engine }) => engine.close()));
});

test("media by address need to know where model servers reach delivery", async () => {
  const dir = await mkdtemp(join(tmpdir(), "reprise-models-"));
  const path = join(dir, "models.json");
  await writeFile(path, JSON.stringify({ models: { llama: { ...LLAMA, media: "url" } } }));
  const set = { REPRISE_MODELS_FILE: path, REPRISE_WORKER_SLOTS: 1, REPRISE_MEDIA_URL: undefined };
  await expect(loadEngines(set, env)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("models.llama.media"),
  });
  const engines = await loadEngines({ ...set, REPRISE_MEDIA_URL: "http://delivery:8080" }, env);
  await engines.get("llama")!.engine.close();
  await rm(dir, { recursive: true });
});

test("memory to which the system can't limit a program is refused at the start", async () => {
  const dir = await mkdtemp(join(tmpdir(), "reprise-models-"));
  const path = join(dir, "models.json");
  const load = async (max_memory_mb: number) => {
    await writeFile(path, JSON.stringify({ models: { whisper: { ...WHISPER, max_memory_mb } } }));
    const set = { REPRISE_MODELS_FILE: path, REPRISE_WORKER_SLOTS: 1, REPRISE_MEDIA_URL: undefined };
    return loadEngines(set, { PATH: "/usr/bin:/bin" });
  };
  expect([...(await load(1_000)).keys()]).toEqual(["whisper"]);
  await expect(load(1)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("models.whisper.max_memory_mb"),
  });
  await rm(dir, { recursive: true });
});
