import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadClassifiersFile, parseClassifiersFile, createClassifiers } from "./classifiers-file.ts";
import { startClassifierServer } from "./testing/classifier-server.ts";

const KEY = "sk-0123456789abcdef";
const env = { OPENAI_API_KEY: KEY };
const OMNI = { kind: "moderations", base_url: "https://api.openai.com/v1", model: "omni-moderation-latest" };

const parse = (classifiers: unknown) =>
  parseClassifiersFile(JSON.stringify({ classifiers }), { source: "classifiers.json", env });

describe("a classifiers file", () => {
  test("gives classifiers by name, with keys from the environment, and defaults", () => {
    const guard = {
      kind: "guard",
      base_url: "http://guard:8000/v1",
      model: "g",
      timeout_ms: 500,
      max_concurrency: 2,
    };
    expect(Object.fromEntries(parse({ omni: { ...OMNI, api_key_env: "OPENAI_API_KEY" }, guard }))).toEqual({
      omni: {
        kind: "moderations",
        baseUrl: OMNI.base_url,
        model: OMNI.model,
        apiKey: KEY,
        timeoutMs: 2_000,
        maxConcurrency: 8,
      },
      guard: {
        kind: "guard",
        baseUrl: guard.base_url,
        model: "g",
        apiKey: undefined,
        timeoutMs: 500,
        maxConcurrency: 2,
      },
    });
  });

  test("is refused with every problem at once, each by its path", () => {
    const wrong = {
      omni: {
        ...OMNI,
        kind: "openai",
        base_url: "ftp://host",
        timeout_ms: 0,
        max_concurrency: 1.5,
        key: KEY,
      },
      guard: { ...OMNI, model: "", api_key_env: "ABSENT" },
      "a b": OMNI,
    };
    expect(() => parse(wrong)).toThrow(
      [
        "classifiers.json is wrong:",
        "  classifiers.omni.kind: must be moderations or guard",
        "  classifiers.omni.base_url: must be an http or https URL without credentials, query and fragment",
        "  classifiers.omni.timeout_ms: Too small: expected number to be >=1",
        "  classifiers.omni.max_concurrency: Invalid input: expected int, received number",
        "  classifiers.omni.key: is not a known field",
        "  classifiers.guard.model: Too small: expected string to have >=1 characters",
        "  classifiers.guard.api_key_env: names ABSENT, which the environment does not have",
        '  classifiers["a b"]: must be 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -',
      ].join("\n"),
    );
  });

  test("is read from disk, and its absence is a problem of the configuration", async () => {
    await using dir = await createTempDir();
    const path = join(dir.path, "classifiers.json");
    await expect(loadClassifiersFile(path, env)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("can't be read"),
    });
    await writeFile(path, JSON.stringify({ classifiers: { omni: OMNI } }));
    expect([...(await loadClassifiersFile(path, env)).keys()]).toEqual(["omni"]);
    expect(await loadClassifiersFile(undefined, env)).toEqual(new Map());
  });
});

describe("the classifiers of a file", () => {
  test("ask their servers, and time out when those are silent", async () => {
    await using server = await startClassifierServer();
    const fields = { base_url: server.baseUrl, model: "m", timeout_ms: 10_000 };
    const classifiers = createClassifiers(
      parse({
        omni: { kind: "moderations", ...fields },
        guard: { kind: "guard", ...fields },
      }),
    );
    const ask = (name: string) =>
      classifiers.get(name)!.classify({ input: "some text" }, new AbortController().signal);
    server.willAnswer({ body: { results: [{ flagged: true, categories: { hate: true } }] } });
    expect(await ask("omni")).toEqual({ kind: "judged", flagged: ["hate"], scores: {} });
    server.willAnswer({ after: new Promise(() => undefined) });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const judgement = ask("guard");
    await expect.poll(() => server.requests).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await judgement).toEqual({ kind: "unjudged", reason: "timeout" });
    await server.requests[1]!.closed;
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/moderations", "/v1/chat/completions"]);
    await Promise.all([...classifiers.values()].map((classifier) => classifier.close()));
  });
});
