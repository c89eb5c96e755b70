import {
  apiBaseUrl,
  apiKeyEnv,
  type KeyEnvironment,
  parseConfigFile,
  readConfigFile,
} from "@reprise/runtime";
import * as z from "zod";
import type { Classifier } from "./classifier.ts";
import { createGuardModel } from "./guard-model.ts";
import { createOpenaiModerations } from "./openai-moderations.ts";
import { protectClassifier } from "./protect-classifier.ts";

export interface ClassifierConfig {
  /** `moderations`: OpenAI's endpoint of that name. `guard`: a guard model over chat completions. */
  readonly kind: "moderations" | "guard";
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly maxConcurrency: number;
}

/** By the name that rules use. Holds API keys: not for logs. */
export type ClassifiersConfig = ReadonlyMap<string, ClassifierConfig>;

/** Names that a rule can use. */
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const MAX_TIMEOUT_MS = 60_000;
const MAX_CONCURRENCY = 1_000;

/**
 * Parses the text of a classifiers file.
 * @param source what to call the file in messages
 * @param env where the keys are that `api_key_env` names
 * @throws RepriseError `config_invalid` that lists every problem at once, each by its path; no message holds a key
 */
export function parseClassifiersFile(
  text: string,
  { source, env }: { source: string; env: KeyEnvironment },
): ClassifiersConfig {
  const { classifiers } = parseConfigFile(text, { source, schema: fileSchema(env) });
  return new Map(Object.entries(classifiers));
}

/**
 * @param path without one there are no classifiers
 * @throws RepriseError `config_invalid`, when the file can't be read too
 */
export async function loadClassifiersFile(
  path: string | undefined,
  env: KeyEnvironment,
): Promise<ClassifiersConfig> {
  if (path === undefined) return new Map();
  return parseClassifiersFile(await readConfigFile(path), { source: path, env });
}

function fileSchema(env: KeyEnvironment) {
  const classifier = z
    .strictObject({
      kind: z.enum(["moderations", "guard"], { error: "must be moderations or guard" }),
      base_url: apiBaseUrl,
      model: z.string().min(1),
      api_key_env: apiKeyEnv(env).optional(),
      timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).default(2_000),
      max_concurrency: z.int().min(1).max(MAX_CONCURRENCY).default(8),
    })
    .transform((fields): ClassifierConfig => ({
      kind: fields.kind,
      baseUrl: fields.base_url,
      model: fields.model,
      apiKey: fields.api_key_env,
      timeoutMs: fields.timeout_ms,
      maxConcurrency: fields.max_concurrency,
    }));
  const name = z.string().regex(NAME, "must be 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -");
  return z.strictObject({ classifiers: z.record(name, classifier) });
}

/** By the name that rules use. */
export type Classifiers = ReadonlyMap<string, Classifier>;

/** @throws RepriseError `config_invalid` */
export async function loadClassifiers(
  { REPRISE_CLASSIFIERS_FILE: path }: { readonly REPRISE_CLASSIFIERS_FILE: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Promise<Classifiers> {
  return createClassifiers(await loadClassifiersFile(path, env));
}

/** One for each of the file, by its name, protected from its outside; without I/O. Close them. */
export function createClassifiers(config: ClassifiersConfig): ReadonlyMap<string, Classifier> {
  return new Map([...config].map(([name, one]) => [name, protectClassifier(createAdapter(name, one), one)]));
}

function createAdapter(name: string, { kind, timeoutMs, ...options }: ClassifierConfig): Classifier {
  const create = kind === "guard" ? createGuardModel : createOpenaiModerations;
  return create({ ...options, name, connectTimeoutMs: timeoutMs });
}
