import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { apiBaseUrl, apiKeyEnv, modelName, parseConfigFile, readConfigFile } from "./config-file.ts";

const KEY = "sk-0123456789abcdef";
const env = { KEY, EMPTY: "", SPLIT: `${KEY}\nb` };
const name = z.string().regex(/^[a-z/]+$/, "must be small letters");
const schema = z.strictObject({
  servers: z.record(name, z.strictObject({ url: apiBaseUrl, key: apiKeyEnv(env).optional() })),
});

const parse = (text: string) => parseConfigFile(text, { source: "servers.json", schema });
const parseServer = (server: object) => parse(JSON.stringify({ servers: { a: server } }));

function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toMatchObject({ code: "config_invalid", param: "servers.json" });
    return (error as Error).message;
  }
  throw new Error("the file was accepted");
}

describe("a configuration file", () => {
  test("is parsed, with keys from the environment", () => {
    expect(parseServer({ url: "http://127.0.0.1:8000/v1", key: "KEY" })).toEqual({
      servers: { a: { url: "http://127.0.0.1:8000/v1", key: KEY } },
    });
  });

  test("is refused with every problem at once, each by its path", () => {
    const servers = { "x/y": { url: 3, port: 1 }, "A b": { url: "http://host" } };
    expect(messageOf(() => parse(JSON.stringify({ servers, version: 1 }))).split("\n")).toEqual([
      "servers.json is wrong:",
      '  servers["x/y"].url: Invalid input: expected string, received number',
      '  servers["x/y"].port: is not a known field',
      '  servers["A b"]: must be small letters',
      "  version: is not a known field",
    ]);
  });

  test.each([
    ["ABSENT", "names ABSENT, which the environment does not have"],
    ["EMPTY", "names EMPTY, which the environment does not have"],
    ["SPLIT", "names SPLIT, which is not visible ASCII"],
  ])("is refused for the key %s, and does not repeat it", (key, problem) => {
    const message = messageOf(() => parseServer({ url: "http://host", key }));
    expect(message).toBe(`servers.json is wrong:\n  servers.a.key: ${problem}`);
  });

  test.each([
    "127.0.0.1:8000",
    "ftp://host",
    "http://u:p@host/v1",
    "http://host/v1?a=b",
    "http://host/v1#a",
    "",
  ])("is refused for the base URL %j", (url) => {
    expect(messageOf(() => parseServer({ url }))).toContain(
      "servers.a.url: must be an http or https URL without credentials, query and fragment",
    );
  });

  test("is refused for what can't be a model's name, by its place in a list", () => {
    const call = () =>
      parseConfigFile('["meta/llama", ""]', { source: "servers.json", schema: z.array(modelName) });
    expect(messageOf(call)).toMatch(/^servers\.json is wrong:\n {2}\[1\]: \S/);
  });

  test("that holds secrets is not quoted when it is not JSON", () => {
    const call = () => parseConfigFile(`{"key": ${KEY}}`, { source: "servers.json", schema, isSecret: true });
    expect(messageOf(call)).toBe("servers.json is not JSON.");
    expect(call).toThrow(expect.not.objectContaining({ cause: expect.anything() }));
  });

  test("that is not JSON, or not of the right kind, is refused by its name", () => {
    expect(messageOf(() => parse("{"))).toMatch(/^servers\.json is not JSON/);
    expect(messageOf(() => parse("[]"))).toMatch(/^servers\.json is wrong:\n {2}the file: /);
  });

  test("is read from disk, and its absence is a problem of the configuration", async () => {
    await using dir = await mkdtempDisposable(join(tmpdir(), "reprise-config-"));
    const path = join(dir.path, "servers.json");
    await expect(readConfigFile(path)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("can't be read"),
    });
    await writeFile(path, "{}");
    expect(await readConfigFile(path)).toBe("{}");
  });
});
