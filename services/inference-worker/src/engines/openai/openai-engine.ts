import {
  countProduced,
  type Engine,
  type EngineEvent,
  type EngineRequest,
  type GenerateOptions,
} from "../engine.ts";
import { canContinueRequest, toChatRequest, type UpstreamModel } from "./chat-request.ts";
import { readChatStream } from "./chat-stream.ts";
import { requestTexts } from "./request-texts.ts";
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
  { signal, onPiece, ...progress }: GenerateOptions,
): AsyncGenerator<EngineEvent> {
  const { upstream, model, key } = target;
  signal.throwIfAborted();
  const body = JSON.stringify(toChatRequest(request, progress, model));
  const producedTokens = countProduced(progress);
  if (request.max_output_tokens !== undefined && producedTokens >= request.max_output_tokens) {
    // An earlier attempt was lost between its last token and its end, or the last token was a tool call's: nothing is left to ask for.
    yield { type: "finish", reason: "length", usage: { input_tokens: null, output_tokens: 0 } };
    return;
  }
  const answer = await upstream.post("/chat/completions", body, signal);
  const secrets = { key, texts: requestTexts(request, progress) };
  let complete = false;
  try {
    if (!isEventStream(answer)) throw await toStatusError(answer, secrets, Date.now());
    const options = { signal, producedTokens, secrets, onPiece };
    for await (const event of readChatStream(answer.body, options)) {
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
