import { readFile } from "node:fs/promises";
import { encodeModelName, RepriseError } from "@reprise/protocol";
import * as z from "zod";

/*
 * Configuration files: JSON, checked by a zod schema, every problem reported at once and by its path. Keys for others' APIs are not in
 * them: a file names the environment variable that holds one.
 */

export type KeyEnvironment = Readonly<Record<string, string | undefined>>;

/** The URL of an external API, such as `http://127.0.0.1:8000/v1`. */
export const apiBaseUrl = z
  .string()
  .refine(isBaseUrl, "must be an http or https URL without credentials, query and fragment");

/** The public name of a model. */
export const modelName = z.string().superRefine((name, context) => {
  try {
    encodeModelName(name);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as RepriseError).message });
  }
});

/** The name of an environment variable, parsed to the key that it holds. No problem repeats the key. */
export function apiKeyEnv(env: KeyEnvironment): z.ZodType<string, string> {
  return z.string().transform((name, context) => {
    const key = env[name];
    if (key !== undefined && /^[\x21-\x7e]+$/.test(key)) return key;
    const problem = key ? "is not visible ASCII" : "the environment does not have";
    context.addIssue({ code: "custom", message: `names ${name}, which ${problem}` });
    return z.NEVER;
  });
}

export interface ConfigFileOptions<T> {
  /** The name of the file in messages. */
  readonly source: string;
  readonly schema: z.ZodType<T>;
  /** Finds problems that the schema can't, called also when the schema has found some; each begins with `toConfigPath`. */
  readonly also?: (json: unknown) => string[];
  /** True if it contains secrets: text that is not JSON is then not quoted. Default: false. */
  readonly isSecret?: boolean;
}

/** @throws RepriseError `config_invalid` that lists every problem */
export function parseConfigFile<T>(
  text: string,
  { source, schema, also, isSecret = false }: ConfigFileOptions<T>,
): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    // The parser's own message quotes the text.
    const cause = isSecret ? undefined : (error as Error);
    const why = cause ? `: ${cause.message}` : ".";
    throw new RepriseError("config_invalid", `${source} is not JSON${why}`, { param: source, cause });
  }
  const result = schema.safeParse(json);
  const problems = [...(result.error?.issues.flatMap(toProblems) ?? []), ...(also?.(json) ?? [])];
  if (result.success && problems.length === 0) return result.data;
  const lines = problems.map((problem) => `  ${problem}`);
  throw new RepriseError("config_invalid", `${source} is wrong:\n${lines.join("\n")}`, { param: source });
}

/** @throws RepriseError `config_invalid` when it can't be read */
export async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new RepriseError("config_invalid", `${path} can't be read: ${(error as Error).message}`, {
      param: path,
      cause: error,
    });
  }
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return false;
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

function toProblems(issue: z.core.$ZodIssue): string[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => `${toConfigPath([...issue.path, key])}: is not a known field`);
    case "invalid_key":
      return issue.issues.map(({ message }) => `${toConfigPath(issue.path)}: ${message}`);
    default:
      return [`${toConfigPath(issue.path)}: ${issue.message}`];
  }
}

/** `models["meta/llama"].base_url` or `tenants[0].id`, as one would write it in a program. */
export function toConfigPath(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the file";
  const parts = path.map((part) =>
    typeof part === "string" && /^[\w$]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`,
  );
  return parts.join("").replace(/^\./, "");
}
