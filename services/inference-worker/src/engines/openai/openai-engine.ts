import { capabilitiesOf, type Capability, RepriseError, unixNow } from "@reprise/protocol";
import {
  countProduced,
  countText,
  type Engine,
  type EngineEvent,
  type EngineRequest,
  type GenerateOptions,
} from "../engine.ts";
import { canContinueRequest, toChatRequest, type UpstreamModel } from "./request/chat-request.ts";
import { findPlaces, type MediaForm } from "./request/placed-media.ts";
import { audioTypeOf } from "./response/made-media.ts";
import { readChatStream } from "./response/chat-stream.ts";
import { isEventStream, toStatusError } from "./errors/status-error.ts";
import { askModel, isAsked, tells } from "./told-capabilities.ts";
import { createUpstream, type Upstream, type UpstreamOptions } from "./upstream.ts";

export interface OpenaiEngineOptions extends UpstreamOptions, Partial<UpstreamModel> {
  readonly upstreamModel: string;
  /** How many servers answer at the base URL. Default 1. */
  readonly servers?: number | undefined;
  /** How the server is given what parts name. Default `data`. */
  readonly media?: MediaForm | undefined;
  /** What the model can do. Default: what the server can, whatever its model. */
  readonly capabilities?: ReadonlySet<Capability> | undefined;
  /** What it can't do, whatever the server says. */
  readonly denied?: readonly Capability[] | undefined;
}

/**
 * Any server with OpenAI's `POST <base URL>/chat/completions`: vLLM, SGLang, llama.cpp, Ollama, TGI, OpenAI itself. A request's
 * `options` become fields of the body. Aborting closes the connection, which is what those servers take for a cancel.
 */
export function createOpenaiEngine(options: OpenaiEngineOptions): Engine {
  const { upstreamModel, continuation = "none", maxTokensField = "max_tokens", ...rest } = options;
  const { dialect = "openai", servers = 1, denied = [], media = "data", ...others } = rest;
  const { capabilities: known = capabilitiesOf(dialect), ...upstreamOptions } = others;
  const { hostname: host, protocol, port } = new URL(upstreamOptions.baseUrl);
  const model: UpstreamModel = { upstreamModel, continuation, maxTokensField, dialect };
  const upstream = createUpstream(upstreamOptions);
  const leftOut = new Set<string>();
  let capabilities = known;
  let contextTokens: number | undefined;
  let isLearning = tells(dialect);
  return {
    name: "openai",
    address: { host, port: Number(port) || (protocol === "https:" ? 443 : 80) },
    servers,
    get capabilities() {
      return capabilities;
    },
    get contextTokens() {
      return contextTokens;
    },
    get isLearning() {
      return isLearning;
    },
    ...(isAsked(dialect) && {
      async learn(signal: AbortSignal) {
        const told = await askModel(upstream, model, signal);
        if (!told) return false;
        capabilities = new Set([...known, ...told.capabilities.filter((name) => !denied.includes(name))]);
        contextTokens = told.contextTokens ?? told.mostTokens;
        isLearning = false;
        return true;
      },
    }),
    canContinue: (request, seam) => canContinueRequest(request, model, seam),
    generate: (request, generateOptions) =>
      generate(
        { upstream, model, media, leftOut, makesImages: capabilities.has("output_images") },
        request,
        generateOptions,
      ),
    close: () => upstream.close(),
  };
}

interface Target {
  upstream: Upstream;
  model: UpstreamModel;
  media: MediaForm;
  /** The parts of answers that were told of: each once, however many answers have it. */
  leftOut: Set<string>;
  makesImages: boolean;
}

function generate(
  { upstream, model, media: mediaForm, leftOut, makesImages }: Target,
  request: EngineRequest,
  { signal, media, onPiece, onFinished, onLeftOut, traceparent, onAnswer, ...progress }: GenerateOptions,
): AsyncGenerator<EngineEvent, void> {
  // Let go of once it is sent: it may be a megabyte, and readers may hold up its answer for hours.
  let unsent: EngineRequest | undefined = request;
  const ask = async () => {
    const sent = unsent;
    unsent = undefined;
    if (!sent) throw new RepriseError("internal", "A request is sent to its engine once.");
    const places = await findPlaces(sent, media, mediaForm);
    const body = places.toBody(JSON.stringify(toChatRequest(sent, progress, model, places.place)));
    // An earlier attempt was lost between its last token and its end, or the last token was a tool call's: nothing is left to ask for.
    if (sent.max_output_tokens !== undefined && countProduced(progress) >= sent.max_output_tokens)
      return undefined;
    const answer = await upstream.post("/chat/completions", body, { signal, traceparent });
    if (isEventStream(answer)) return answer;
    try {
      const error = await toStatusError(answer, unixNow());
      signal.throwIfAborted();
      throw error;
    } finally {
      answer.release(false);
    }
  };
  const tellOnce = (part: string) => {
    if (!leftOut.has(part)) onLeftOut?.(part);
    leftOut.add(part);
  };
  const told = { onPiece, onFinished, onLeftOut: tellOnce, onAnswer };
  const wanted = { producedTokens: countText(progress), topLogprobs: request.logprobs };
  const made = { audioType: audioTypeOf(request.options?.["audio"]), makesImages };
  return readChatStream(ask, { signal, ...wanted, ...made, ...told });
}
