import type { Classifier, ClassifierSubject } from "./classifier.ts";
import { readGuardAnswer } from "./guard-answer.ts";
import { createJsonEndpoint } from "./json-endpoint.ts";
import type { RemoteClassifierOptions } from "./openai-moderations.ts";

/** Room for every category there is; a guard stops long before. */
const MAX_TOKENS = 64;
/** In characters, of the end of what was asked: a guard's context is small, and the answer has to fit too. */
const MAX_PROMPT_LENGTH = 8_000;

/**
 * Creates a client of a guard model such as Llama Guard 3 or 4, served at `POST <base URL>/chat/completions` by vLLM. The last message is the assistant's, so
 * the guard judges the answer, not the question; its template puts both into its own prompt. Servers that take a last assistant message
 * for the user's (SGLang), or for the beginning of their own answer (llama.cpp, TGI), judge something else.
 */
export function createGuardModel({ name, model, ...options }: RemoteClassifierOptions): Classifier {
  const endpoint = createJsonEndpoint(options);
  return {
    name,
    async classify(subject, signal) {
      const body = { model, messages: toMessages(subject), ...SAMPLING };
      const answer = await endpoint.post("/chat/completions", body, signal);
      return answer.kind === "json" ? readGuardAnswer(answer.value) : answer;
    },
    close: () => endpoint.close(),
  };
}

const SAMPLING = { max_tokens: MAX_TOKENS, temperature: 0, logprobs: true, top_logprobs: 5 };

/** Templates want turns that alternate from the user on, even where nothing was asked. */
function toMessages({ input, prompt = "" }: ClassifierSubject) {
  return [
    { role: "user", content: prompt.slice(-MAX_PROMPT_LENGTH) },
    { role: "assistant", content: input },
  ];
}
