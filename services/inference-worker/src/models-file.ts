import { readFile } from "node:fs/promises";
import { encodeModelName, RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { CONTINUATIONS, MAX_TOKENS_FIELDS } from "./engines/openai/chat-request.ts";
import type { OpenaiEngineOptions } from "./engines/openai/openai-engine.ts";

export type EngineConfig =
  | { readonly engine: "sim" }
  | { readonly engine: "openai"; readonly openai: OpenaiEngineOptions };

export type ModelConfig = EngineConfig & {
  readonly slots?: number | undefined;
  /** Another model of the same file, whose engine stands in when this one's fails. */
  readonly fallback?: string | undefined;
};

/** By public model name. Holds API keys: not for logs. */
export type ModelsConfig = ReadonlyMap<string, ModelConfig>;

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

const DEFAULT_MODELS: ModelsConfig = new Map([["sim", { engine: "sim" }]]);
const MAX_SLOTS = 10_000;
const MAX_TIMEOUT_MS = 3_600_000;

const slots = z.int().min(1).max(MAX_SLOTS).optional();
const timeoutMs = z.int().min(1).max(MAX_TIMEOUT_MS).optional();

const baseUrl = z
  .string()
  .refine(isBaseUrl, "must be an http or https URL without credentials, query and fragment");

const modelName = z.string().superRefine((name, context) => {
  try {
    encodeModelName(name);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as RepriseError).message });
  }
});

/** What it names is looked at by `findFallbackProblems`. */
const fallback = z.string().optional();

const fallbacksSchema = z
  .object({ models: z.record(z.string(), z.object({ fallback: z.string() }).partial().catch({})) })
  .catch({ models: {} });

const simSchema = z
  .strictObject({ engine: z.literal("sim"), slots, fallback })
  .transform((model): ModelConfig => model);

function openaiSchema(env: ProcessEnvironment) {
  const keyEnv = z.string().superRefine((name, context) => {
    const key = env[name];
    if (!key)
      context.addIssue({ code: "custom", message: `names ${name}, which the environment does not have` });
    else if (!/^[\x21-\x7e]+$/.test(key))
      context.addIssue({ code: "custom", message: `names ${name}, which is not visible ASCII` });
  });
  return z
    .strictObject({
      engine: z.literal("openai"),
      base_url: baseUrl,
      upstream_model: z.string().min(1),
      api_key_env: keyEnv.optional(),
      continuation: z.enum(CONTINUATIONS).default("none"),
      max_tokens_field: z.enum(MAX_TOKENS_FIELDS).default("max_tokens"),
      connect_timeout_ms: timeoutMs,
      headers_timeout_ms: timeoutMs,
      idle_timeout_ms: timeoutMs,
      slots,
      fallback,
    })
    .transform((model): ModelConfig => ({
      engine: "openai",
      slots: model.slots,
      fallback: model.fallback,
      openai: {
        baseUrl: model.base_url,
        upstreamModel: model.upstream_model,
        apiKey: model.api_key_env === undefined ? undefined : env[model.api_key_env],
        continuation: model.continuation,
        maxTokensField: model.max_tokens_field,
        connectTimeoutMs: model.connect_timeout_ms,
        headersTimeoutMs: model.headers_timeout_ms,
        idleTimeoutMs: model.idle_timeout_ms,
      },
    }));
}

function fileSchema(env: ProcessEnvironment) {
  const model = z.discriminatedUnion("engine", [simSchema, openaiSchema(env)], {
    error: "must name an engine: sim or openai",
  });
  const models = z
    .record(modelName, model)
    .refine((map) => Object.keys(map).length > 0, "must hold at least one model");
  return z.strictObject({ models });
}

/**
 * Parses the text of a models file (DESIGN.md §3.4).
 * @param source what to call the file in messages
 * @param env where the keys are that `api_key_env` names
 * @throws RepriseError `config_invalid` that lists every problem at once, each by its path; no message holds a key
 */
export function parseModelsFile(
  text: string,
  { source, env }: { source: string; env: ProcessEnvironment },
): ModelsConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new RepriseError("config_invalid", `${source} is not JSON: ${(error as Error).message}`, {
      param: source,
      cause: error,
    });
  }
  const result = fileSchema(env).safeParse(json);
  const problems = [...(result.error?.issues.flatMap(toProblems) ?? []), ...findFallbackProblems(json)];
  if (result.success && problems.length === 0) return new Map(Object.entries(result.data.models));
  const lines = problems.map((problem) => `  ${problem}`);
  throw new RepriseError("config_invalid", `${source} is wrong:\n${lines.join("\n")}`, { param: source });
}

/**
 * @param path without one there is the model `sim`
 * @throws RepriseError `config_invalid`, when the file can't be read too
 */
export async function loadModelsFile(
  path: string | undefined,
  env: ProcessEnvironment,
): Promise<ModelsConfig> {
  if (path === undefined) return DEFAULT_MODELS;
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new RepriseError("config_invalid", `${path} can't be read: ${(error as Error).message}`, {
      param: path,
      cause: error,
    });
  }
  return parseModelsFile(text, { source: path, env });
}

/** Beside the schema, because a refinement across models would not be asked while anything else is wrong. */
function findFallbackProblems(json: unknown): string[] {
  const { models } = fallbacksSchema.parse(json);
  return Object.entries(models).flatMap(([name, { fallback: other }]) => {
    const path = toPath(["models", name, "fallback"]);
    if (other === undefined) return [];
    if (other === name) return [`${path}: names the model itself`];
    if (Object.hasOwn(models, other)) return [];
    return [`${path}: names ${JSON.stringify(other)}, which is no model of the file`];
  });
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

function toProblems(issue: z.core.$ZodIssue): string[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => `${toPath([...issue.path, key])}: is not a known field`);
    case "invalid_key":
      return issue.issues.map(({ message }) => `${toPath(issue.path)}: ${message}`);
    default:
      return [`${toPath(issue.path)}: ${issue.message}`];
  }
}

/** `models["meta/llama"].base_url`, as one would write it in a program. */
function toPath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the file";
  const parts = path
    .map(String)
    .map((part) => (/^[\w$]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`));
  return parts.join("").replace(/^\./, "");
}
