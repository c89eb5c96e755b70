/** How much of an upstream's message is passed on, in characters. */
const MAX_QUOTE_LENGTH = 500;
/** A run of the request's text this long, or a whole text of at least `MIN_TEXT_LENGTH`, counts as repeating the request. */
const WINDOW_LENGTH = 12;
const MIN_TEXT_LENGTH = 4;

export interface Secrets {
  readonly key: string | undefined;
  readonly texts: readonly string[];
}

/**
 * What an upstream says about an error, fit for a client's eyes: on one line, at most 500 characters. Validators like to
 * repeat their input, so a message that holds the key or part of the request's text is withheld whole. The answer may be JSON
 * in any of the usual shapes, or plain text; undefined when it says nothing.
 */
export function quoteUpstream(answer: unknown, { key, texts }: Secrets): string | undefined {
  const message = toMessage(answer)
    ?.replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  if (!message) return undefined;
  // Judged before it is cut, so that the cut can't hide what it runs through.
  const judged = message.slice(0, MAX_QUOTE_LENGTH * 2);
  if ((key !== undefined && judged.includes(key)) || texts.some((text) => repeats(judged, text))) {
    return "(its message repeats the request and is withheld)";
  }
  return judged.length > MAX_QUOTE_LENGTH ? `${judged.slice(0, MAX_QUOTE_LENGTH - 1)}…` : judged;
}

/** `{error: {message}}` (OpenAI), `{error: "…"}` (Ollama, TGI), `{message}` (vLLM), `{detail}` (FastAPI), or text. */
function toMessage(answer: unknown): string | undefined {
  if (typeof answer === "string") return answer;
  if (typeof answer !== "object" || answer === null) return undefined;
  const { error, message, detail } = answer as Record<string, unknown>;
  return toMessage(error) ?? toMessage(message) ?? toMessage(detail);
}

/** Windows of the message one half of their length apart meet every shared run of 1.5 windows; shorter ones only by chance. */
function repeats(message: string, text: string): boolean {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  if (line.length < MIN_TEXT_LENGTH) return false;
  if (line.length <= WINDOW_LENGTH * 1.5) return message.includes(line);
  for (let start = 0; start + WINDOW_LENGTH <= message.length; start += WINDOW_LENGTH / 2) {
    if (line.includes(message.slice(start, start + WINDOW_LENGTH))) return true;
  }
  return false;
}
