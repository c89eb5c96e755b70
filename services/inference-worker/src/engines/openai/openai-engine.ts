import type { Engine, EngineEvent, EngineRequest, GenerateOptions } from "../engine.ts";
import { canContinueRequest, requestTexts, toChatRequest, type UpstreamModel } from "./chat-request.ts";
import { readChatStream } from "./chat-stream.ts";
import { isEventStream, toStatusError } from "./status-error.ts";
import { createUpstream, type Upstream, type UpstreamOptions } from "./upstream.ts";

export interface OpenaiEngineOptions extends UpstreamOptions, Partial<UpstreamModel> {
  readonly upstreamModel: string;
}

/**
 * Any server with OpenAI's `POST <base URL>/chat/completions`: vLLM, SGLang, llama.cpp, Ollama, TGI, OpenAI itself. A request's
 * `options` become fields of the body. Aborting closes the connection, which is what those servers take for a cancel.
 */
export function createOpenaiEngine(options: OpenaiEngineOptions): Engine {
  const { upstreamModel, continuation = "none", maxTokensField = "max_tokens", ...upstreamOptions } = options;
  const model: UpstreamModel = { upstreamModel, continuation, maxTokensField };
  const upstream = createUpstream(upstreamOptions);
  return {
    name: "openai",
    canContinue: (request) => canContinueRequest(request, model),
    generate: (request, generateOptions) =>
      generate({ upstream, model, key: options.apiKey }, request, generateOptions),
    close: () => upstream.close(),
  };
}

interface Target {
  upstream: Upstream;
  model: UpstreamModel;
  key: string | undefined;
}

async function* generate(
  target: Target,
  request: EngineRequest,
  { prefix, signal }: GenerateOptions,
): AsyncGenerator<EngineEvent> {
  const { upstream, model, key } = target;
  signal.throwIfAborted();
  const body = JSON.stringify(toChatRequest(request, prefix, model));
  if (request.max_output_tokens !== undefined && prefix.tokens >= request.max_output_tokens) {
    // The earlier attempt was lost between its last token and its end; there is nothing left to ask for.
    yield { type: "finish", reason: "length", usage: { input_tokens: null, output_tokens: 0 } };
    return;
  }
  const answer = await upstream.post("/chat/completions", body, signal);
  const secrets = { key, texts: requestTexts(request, prefix) };
  let complete = false;
  try {
    if (!isEventStream(answer)) throw await toStatusError(answer, secrets, Date.now());
    for await (const event of readChatStream(answer.body, { signal, prefixTokens: prefix.tokens, secrets })) {
      complete = event.type === "finish";
      yield event;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    answer.release(complete);
  }
}
