import { ERROR_WORDS, MEASURES } from "./error-vocabulary.ts";

/** The limits of the text read from an answer and of the text logged, in characters. */
const MAX_MESSAGE_LENGTH = 4_096;
const MAX_SAID_LENGTH = 500;
const MAX_DIGITS = 7;
const LEFT_OUT = "…";

/**
 * Redacts an upstream's error message for the worker's log. An error may quote the request, the model's output or a key,
 * and the start of a quotation cannot be recognized. So only the usual words of errors are kept, and numbers next to a measure;
 * all else is left out. The answer may be JSON in any of the usual shapes, or text; undefined if it has no message.
 */
export function redactUpstream(answer: unknown): string | undefined {
  const message = toMessage(answer)?.slice(0, MAX_MESSAGE_LENGTH);
  // Names such as BadRequestError and context_length_exceeded are words too.
  const parts = message?.replace(/(\p{Ll})(?=\p{Lu})/gu, "$1 ").match(/[\p{L}\p{M}]+|\p{N}+/gu);
  if (!parts) return undefined;
  const told: string[] = [];
  for (const [i, part] of parts.entries()) {
    const known = isNumber(part) ? isMeasured(part, parts[i - 1], parts[i + 1]) : isWord(part);
    if (known) told.push(part);
    else if (told.at(-1) !== LEFT_OUT) told.push(LEFT_OUT);
  }
  const said = told.join(" ");
  return said.length > MAX_SAID_LENGTH ? `${said.slice(0, MAX_SAID_LENGTH - 1)}${LEFT_OUT}` : said;
}

/**
 * `{error: {type, code, message}}` (OpenAI), `{error: "…"}` (Ollama), `{error, error_type}` (TGI), `{object: "error", message}` (vLLM,
 * Mistral), `{detail}` (FastAPI), or text.
 */
function toMessage(answer: unknown): string | undefined {
  if (typeof answer === "string") return answer;
  if (typeof answer !== "object" || answer === null) return undefined;
  const { error, type, error_type: errorType, code, message, detail } = answer as Record<string, unknown>;
  const parts = [errorType, type, code, toMessage(error) ?? toMessage(message) ?? toMessage(detail)];
  const texts = parts.filter((part) => typeof part === "string" && part !== "");
  return texts.length > 0 ? texts.join(": ") : undefined;
}

function isNumber(part: string): boolean {
  return /^\p{N}/u.test(part);
}

function isWord(part: string): boolean {
  return ERROR_WORDS.has(part.toLowerCase());
}

/** A number in a row of numbers, such as that of a card, measures nothing. */
function isMeasured(part: string, before = "", after = ""): boolean {
  if (!/^\d+$/.test(part) || part.length > MAX_DIGITS || isNumber(before) || isNumber(after)) return false;
  return [before, after].some((word) => MEASURES.has(word.toLowerCase()));
}
