import { Readable } from "node:stream";
import type { Dialect } from "@reprise/protocol";
import { tryJson } from "./response/answer-frames.ts";
import { type Question, questionsFor, type ToldModel } from "./told-model.ts";
import type { Upstream } from "./upstream.ts";

/** A longer answer is ignored. */
const MAX_BYTES = 1_048_576;

/** Dialects whose answer states the model's input types: until it has come, any request may be sent to the model. */
const TELLING: ReadonlySet<Dialect> = new Set(["llama.cpp", "mistral", "ollama", "lm-studio"]);

/** True if servers of this dialect are asked about their model. */
export function isAsked(dialect: Dialect): boolean {
  return questionsFor(dialect).length > 0;
}

export function tells(dialect: Dialect): boolean {
  return TELLING.has(dialect);
}

/**
 * Asks a model server about its model: its capabilities beyond those of every model of such a server, and its context size in tokens.
 * @returns undefined if the server does not answer now; an empty object if its answer does not tell
 */
export async function askModel(
  upstream: Pick<Upstream, "get" | "post">,
  { dialect, upstreamModel }: { readonly dialect: Dialect; readonly upstreamModel: string },
  signal: AbortSignal,
): Promise<ToldModel | undefined> {
  const [first, ...others] = questionsFor(dialect);
  let told = first && (await ask(upstream, first, upstreamModel, signal));
  if (!told) return undefined;
  for (const question of others) {
    if (told.contextTokens !== undefined) break;
    // A failed question leaves its values unknown: the first answer is kept.
    told = { ...told, ...(await ask(upstream, question, upstreamModel, signal)) };
  }
  const { capabilities = [], contextTokens, mostTokens } = told;
  return { capabilities, contextTokens, mostTokens };
}

async function ask(
  upstream: Pick<Upstream, "get" | "post">,
  { path, body, parse }: Question,
  upstreamModel: string,
  signal: AbortSignal,
): Promise<Partial<ToldModel> | undefined> {
  try {
    const answer = await (body
      ? upstream.post(path, toBody(body(upstreamModel)), { signal })
      : upstream.get(path, signal));
    try {
      if (answer.status >= 500 || answer.status === 429) return undefined;
      return parse(tryJson(await answer.readStart(MAX_BYTES)), upstreamModel);
    } finally {
      answer.release(false);
    }
  } catch {
    // It is away, or the worker stops: it is asked again, or never.
    return undefined;
  }
}

function toBody(value: object) {
  const bytes = Buffer.from(JSON.stringify(value));
  return { bytes: bytes.length, open: () => Readable.from([bytes]) };
}
