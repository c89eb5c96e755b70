import { priceSchema } from "@reprise/facts";
import {
  CAPABILITIES,
  capabilitiesOf,
  capabilitiesSchema,
  contextTokensSchema,
  type Capability,
  DIALECTS,
  EXTERNAL_MODEL,
} from "@reprise/protocol";
import {
  apiBaseUrl,
  apiKeyEnv,
  type KeyEnvironment,
  modelName,
  parseConfigFile,
  readConfigFile,
  toConfigPath,
} from "@reprise/runtime";
import { maxOutputTokensSchema } from "@reprise/tenancy";
import * as z from "zod";
import type { CommandEngineOptions } from "../engines/command/command-engine.ts";
import { CACHE_SALTS } from "../engines/openai/request/cache-salt.ts";
import { CONTINUATIONS, MAX_TOKENS_FIELDS } from "../engines/openai/request/chat-request.ts";
import { MEDIA_FORMS } from "../engines/openai/request/placed-media.ts";
import type { OpenaiEngineOptions } from "../engines/openai/openai-engine.ts";
import type { HealthOptions } from "../engines/openai/replicas/replica-pool.ts";
import type { RealtimeEngineOptions } from "../engines/realtime/realtime-engine.ts";
import { LONGEST_EJECTION_MS } from "../engines/openai/replicas/replica-state.ts";

export type EngineConfig =
  | { readonly engine: "sim"; readonly capabilities?: ReadonlySet<Capability> | undefined }
  | { readonly engine: "openai"; readonly openai: OpenaiEngineOptions }
  | { readonly engine: "realtime"; readonly realtime: RealtimeEngineOptions }
  | { readonly engine: "command"; readonly command: CommandEngineOptions };

export type ModelConfig = EngineConfig & {
  readonly slots?: number | undefined;
  readonly reserve?: number | undefined;
  /** Another model of the same file, whose engine takes over if this model's engine fails. */
  readonly fallback?: string | undefined;
};

/** By public model name. Holds API keys: not for logs. */
export type ModelsConfig = ReadonlyMap<string, ModelConfig>;

const DEFAULT_MODELS: ModelsConfig = new Map([["sim", { engine: "sim" }]]);
const MAX_SLOTS = 10_000;
const MAX_SERVERS = 1_000;
const MAX_BASE_URLS = 64;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_ARGUMENTS = 256;
const MAX_MEMORY_MB = 1_048_576;
const MAX_COMMAND_OUTPUT_BYTES = 64 * 1_024 * 1_024;
const DEFAULT_COMMAND_OUTPUT_BYTES = 1_024 * 1_024;
/** Variables that every program gets, if the worker has them. */
const COMMAND_ENVIRONMENT = ["PATH", "LANG"];

const slots = z.int().min(1).max(MAX_SLOTS).optional();
const reserve = z.int().min(0).max(MAX_SLOTS).optional();
const timeoutMs = z.int().min(1).max(MAX_TIMEOUT_MS).optional();

/** Prices are used by analytics and delivery, not by the worker. */
const price = priceSchema.optional();
const capabilities = capabilitiesSchema.optional();
/** Delivery uses the context size to limit conversations; the worker does not. */
const contextTokens = contextTokensSchema.optional();
/** `findFallbackProblems` checks the model that it names. */
const fallback = z.string().optional();

/** When one of several servers is left alone. */
const healthSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/, "must be a path that begins with /")
    .optional(),
  interval_ms: z.int().min(100).max(MAX_TIMEOUT_MS).optional(),
  eject_after: z.int().min(1).max(1_000).optional(),
  eject_ms: z.int().min(1).max(LONGEST_EJECTION_MS).optional(),
});

function toHealth(health: z.infer<typeof healthSchema>): HealthOptions {
  const { path, interval_ms: intervalMs, eject_after: ejectAfter, eject_ms: ejectMs } = health;
  return {
    path,
    intervalMs,
    ...(ejectAfter !== undefined && { ejectAfter }),
    ...(ejectMs !== undefined && { ejectMs }),
  };
}

const addressesSchema = z
  .object({
    models: z.record(
      z.string(),
      z
        .object({ engine: z.literal("openai"), base_url: z.unknown(), base_urls: z.unknown() })
        .partial({ base_url: true, base_urls: true })
        .optional()
        .catch(undefined),
    ),
  })
  .catch({ models: {} });

const fallbacksSchema = z
  .object({ models: z.record(z.string(), z.object({ fallback: z.string() }).partial().catch({})) })
  .catch({ models: {} });

const simSchema = z
  .strictObject({
    engine: z.literal("sim"),
    slots,
    reserve,
    fallback,
    price,
    capabilities,
    context_tokens: contextTokens,
  })
  .transform(({ engine, ...model }): ModelConfig => ({
    engine,
    ...(model.capabilities && { capabilities: capabilitiesOf(undefined, model.capabilities) }),
    slots: model.slots,
    reserve: model.reserve,
    fallback: model.fallback,
  }));

function openaiSchema(env: KeyEnvironment) {
  return z
    .strictObject({
      engine: z.literal("openai"),
      base_url: apiBaseUrl.optional(),
      base_urls: z.array(apiBaseUrl).min(1).max(MAX_BASE_URLS).optional(),
      health: healthSchema.optional(),
      affinity: z.enum(["prefix", "none"]).default("prefix"),
      cache_salt: z.enum(CACHE_SALTS).optional(),
      upstream_model: z.string().min(1),
      api_key_env: apiKeyEnv(env).optional(),
      continuation: z.enum(CONTINUATIONS).default("none"),
      dialect: z.enum(DIALECTS).default("openai"),
      capabilities,
      context_tokens: contextTokens,
      media: z.enum(MEDIA_FORMS).default("data"),
      max_output_tokens: maxOutputTokensSchema.optional(),
      max_tokens_field: z.enum(MAX_TOKENS_FIELDS).default("max_tokens"),
      think_tags: z.union([z.boolean(), z.literal("opened")]).optional(),
      connect_timeout_ms: timeoutMs,
      headers_timeout_ms: timeoutMs,
      idle_timeout_ms: timeoutMs,
      servers: z.int().min(1).max(MAX_SERVERS).default(1),
      slots,
      reserve,
      fallback,
      price,
    })
    .transform(({ base_url: one, base_urls: several = [], health, ...model }): ModelConfig => ({
      engine: "openai",
      slots: model.slots,
      reserve: model.reserve,
      fallback: model.fallback,
      openai: {
        // One of the two is there: `findAddressProblems`.
        baseUrl: one ?? several[0] ?? "",
        moreBaseUrls: several.slice(1),
        ...(health && { health: toHealth(health) }),
        hasAffinity: model.affinity === "prefix",
        cacheSalt: model.cache_salt,
        upstreamModel: model.upstream_model,
        apiKey: model.api_key_env,
        continuation: model.continuation,
        maxOutputTokens: model.max_output_tokens,
        maxTokensField: model.max_tokens_field,
        dialect: model.dialect,
        media: model.media,
        capabilities: capabilitiesOf(model.dialect, model.capabilities),
        denied: CAPABILITIES.filter((name) => model.capabilities?.[name] === false),
        thinkTags: model.think_tags,
        connectTimeoutMs: model.connect_timeout_ms,
        headersTimeoutMs: model.headers_timeout_ms,
        idleTimeoutMs: model.idle_timeout_ms,
        servers: model.servers,
      },
    }));
}

function realtimeSchema(env: KeyEnvironment) {
  return z
    .strictObject({
      engine: z.literal("realtime"),
      base_url: apiBaseUrl,
      upstream_model: z.string().min(1),
      api_key_env: apiKeyEnv(env).optional(),
      capabilities,
      context_tokens: contextTokens,
      slots,
      reserve,
      fallback,
      price,
    })
    .transform((model): ModelConfig => ({
      engine: "realtime",
      slots: model.slots,
      reserve: model.reserve,
      fallback: model.fallback,
      realtime: {
        baseUrl: model.base_url,
        upstreamModel: model.upstream_model,
        apiKey: model.api_key_env,
        capabilities: capabilitiesOf("realtime", model.capabilities),
      },
    }));
}

function commandSchema(env: KeyEnvironment) {
  const text = z.string().refine((value) => !value.includes("\0"), "must not have a NUL");
  const program = text.regex(/^(\/|[^/]+$)/, "must be an absolute path, or a name to find on PATH");
  const variable = z.string().refine((name) => env[name] !== undefined, "is not in the environment");
  return z
    .strictObject({
      engine: z.literal("command"),
      command: z.tuple([program], text).refine(({ length }) => length <= MAX_ARGUMENTS, {
        error: `must have at most ${MAX_ARGUMENTS} items`,
      }),
      env: z.array(variable).default([]),
      max_memory_mb: z.int().min(1).max(MAX_MEMORY_MB).optional(),
      max_output_bytes: z.int().min(1).max(MAX_COMMAND_OUTPUT_BYTES).default(DEFAULT_COMMAND_OUTPUT_BYTES),
      capabilities,
      context_tokens: contextTokens,
      slots,
      reserve,
      fallback,
      price,
    })
    .transform(({ env: names, ...model }): ModelConfig => ({
      engine: "command",
      slots: model.slots,
      reserve: model.reserve,
      fallback: model.fallback,
      command: {
        command: model.command,
        environment: Object.fromEntries(
          [...COMMAND_ENVIRONMENT, ...names].flatMap((name) =>
            env[name] === undefined ? [] : [[name, env[name]]],
          ),
        ),
        maxMemoryMb: model.max_memory_mb,
        maxOutputBytes: model.max_output_bytes,
        capabilities: capabilitiesOf("command", model.capabilities),
      },
    }));
}

function fileSchema(env: KeyEnvironment) {
  const engines = [simSchema, openaiSchema(env), realtimeSchema(env), commandSchema(env)] as const;
  const model = z.discriminatedUnion("engine", engines, {
    error: "must name an engine: sim, openai, realtime or command",
  });
  const models = z
    .record(
      modelName.refine((name) => name !== EXTERNAL_MODEL, "is reserved for producers of a tenant's own"),
      model,
    )
    .refine((map) => Object.keys(map).length > 0, "must hold at least one model");
  return z.strictObject({ models });
}

/**
 * Parses the text of a models file.
 * @param source what to call the file in messages
 * @param env where the keys are that `api_key_env` names
 * @throws RepriseError `config_invalid` that lists every problem at once, each by its path; no message holds a key
 */
export function parseModelsFile(
  text: string,
  { source, env }: { source: string; env: KeyEnvironment },
): ModelsConfig {
  const { models } = parseConfigFile(text, {
    source,
    schema: fileSchema(env),
    also: (json) => [...findFallbackProblems(json), ...findAddressProblems(json)],
  });
  return new Map(Object.entries(models));
}

/**
 * @param path without one there is the model `sim`
 * @throws RepriseError `config_invalid`, when the file can't be read too
 */
export async function loadModelsFile(path: string | undefined, env: KeyEnvironment): Promise<ModelsConfig> {
  if (path === undefined) return DEFAULT_MODELS;
  return parseModelsFile(await readConfigFile(path), { source: path, env });
}

/** Beside the schema, because a refinement across models would not be asked while anything else is wrong. */
function findFallbackProblems(json: unknown): string[] {
  const { models } = fallbacksSchema.parse(json);
  return Object.entries(models).flatMap(([name, { fallback: other }]) => {
    const path = toConfigPath(["models", name, "fallback"]);
    if (other === undefined) return [];
    if (other === name) return [`${path}: names the model itself`];
    if (Object.hasOwn(models, other)) return [];
    return [`${path}: names ${JSON.stringify(other)}, which is no model of the file`];
  });
}

/** Beside the schema, for the same reason. */
function findAddressProblems(json: unknown): string[] {
  const { models } = addressesSchema.parse(json);
  return Object.entries(models).flatMap(([name, model]) => {
    if (!model) return [];
    const { base_url: one, base_urls: several } = model;
    if ((one === undefined) === (several === undefined))
      return [`${toConfigPath(["models", name, "base_url"])}: either this or base_urls must be given`];
    const urls = Array.isArray(several) ? several.map((url) => String(url).replace(/\/$/, "")) : [];
    const again = urls.findIndex((url, i) => urls.indexOf(url) < i);
    return again === -1 ? [] : [`${toConfigPath(["models", name, "base_urls", again])}: is given twice`];
  });
}
