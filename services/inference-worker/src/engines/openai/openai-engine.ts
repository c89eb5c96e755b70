import { capabilitiesOf, type Capability, RepriseError } from "@reprise/protocol";
import { UNSEEN_TOKENS } from "@reprise/tenancy";
import {
  countProduced,
  countText,
  type Engine,
  type EngineEvent,
  type EngineRequest,
  type GenerateOptions,
} from "../engine.ts";
import type { ReasoningField } from "./dialect-form.ts";
import { canContinueRequest, toChatRequest, type UpstreamModel } from "./request/chat-request.ts";
import { type CacheSalt, cacheSaltOf, defaultCacheSalt } from "./request/cache-salt.ts";
import { findPlaces, type MediaForm } from "./request/placed-media.ts";
import { createBodies } from "./request/server-body.ts";
import { RefusedFields } from "./request/refused-fields.ts";
import { audioTypeOf } from "./response/made-media.ts";
import type { ThinkTagForm } from "./response/think-tags.ts";
import { readChatStream } from "./response/chat-stream.ts";
import { affinityKeyOf } from "./replicas/affinity.ts";
import { askReplicas } from "./replicas/ask-replicas.ts";
import { postToReplica } from "./replicas/post-to-replica.ts";
import { createReplicaPool, type HealthOptions, type ReplicaPool } from "./replicas/replica-pool.ts";
import { isAsked, tells } from "./told-capabilities.ts";
import type { UpstreamOptions } from "./upstream.ts";

export interface OpenaiEngineOptions extends UpstreamOptions, Partial<UpstreamModel> {
  readonly upstreamModel: string;
  /** Base URLs of further servers with the same model and key. Default: none. */
  readonly moreBaseUrls?: readonly string[] | undefined;
  /** Health checks, if there are several servers. */
  readonly health?: HealthOptions | undefined;
  /** True if requests with the same beginning of the prompt share a server, while that has room. Default true. */
  readonly hasAffinity?: boolean | undefined;
  /** For whom a server keeps what it has computed of prompts. Default: as the dialect has it. */
  readonly cacheSalt?: CacheSalt | undefined;
  /** The number of servers at a base URL. Default 1. */
  readonly servers?: number | undefined;
  /** The form in which the server gets the media of a request. Default `data`. */
  readonly media?: MediaForm | undefined;
  /** The capabilities of the model. Default: those of the server, for any model. */
  readonly capabilities?: ReadonlySet<Capability> | undefined;
  /** The most tokens that the model makes for a request, hidden ones included. Default: not known. */
  readonly maxOutputTokens?: number | undefined;
  /** The way the model writes its reasoning into its text. Default: by the model's name. */
  readonly thinkTags?: ThinkTagForm | undefined;
  /** Capabilities that the model lacks, even if the server reports them. */
  readonly denied?: readonly Capability[] | undefined;
}

/**
 * Any server with OpenAI's `POST <base URL>/chat/completions`: vLLM, SGLang, llama.cpp, Ollama, TGI, OpenAI itself. A request's
 * `options` become fields of the body. Aborting closes the connection, which is what those servers take for a cancel.
 */
export function createOpenaiEngine(options: OpenaiEngineOptions): Engine {
  const { upstreamModel, continuation = "none", maxTokensField = "max_tokens", ...rest } = options;
  const { dialect = "openai", servers = 1, denied = [], media = "data", maxOutputTokens, ...others } = rest;
  const { thinkTags = writesThinkTags(upstreamModel) } = options;
  const {
    capabilities: known = capabilitiesOf(dialect),
    baseUrl,
    moreBaseUrls = [],
    cacheSalt = defaultCacheSalt(dialect),
    ...poolOptions
  } = others;
  const model: UpstreamModel = { upstreamModel, continuation, maxTokensField, dialect };
  const pool = createReplicaPool({ ...poolOptions, baseUrls: [baseUrl, ...moreBaseUrls] });
  const [only, ...more] = pool.servers;
  const leftOut = new Set<string>();
  const refused = pool.upstreams.map(() => new RefusedFields());
  let reasoningField: ReasoningField | undefined;
  let capabilities = known;
  let contextTokens: number | undefined;
  let isLearning = tells(dialect);
  return {
    name: "openai",
    ...(more.length === 0 ? { address: only } : { replicas: pool }),
    servers: servers * pool.servers.length,
    unseen: { tokens: maxOutputTokens ?? UNSEEN_TOKENS, isMost: maxOutputTokens !== undefined },
    get capabilities() {
      return capabilities;
    },
    get contextTokens() {
      return contextTokens;
    },
    get isLearning() {
      return isLearning;
    },
    ...(isAsked(dialect) && { learn: createLearning() }),
    canContinue: (request, seam) => canContinueRequest(request, model, seam),
    generate: (request, generateOptions) =>
      generate(
        {
          pool,
          model: { ...model, reasoningField },
          media,
          refused,
          cacheSalt,
          leftOut,
          thinkTags,
          makesImages: capabilities.has("output_images"),
          onReasoningField: (field) => (reasoningField = field),
        },
        request,
        generateOptions,
      ),
    close: () => pool.close(),
  };

  /** The model can what all servers can that have said it, and takes as little as one; one that has not answered is asked again. */
  function createLearning() {
    const ask = askReplicas(pool.upstreams, model);
    return async (signal: AbortSignal) => {
      const told = await ask(signal);
      if (!told) return false;
      capabilities = new Set([...known, ...told.capabilities.filter((name) => !denied.includes(name))]);
      ({ contextTokens } = told);
      isLearning = false;
      return told.isWhole;
    };
  }
}

/** Models that are known to write tags, by a part of their names; a server that takes them apart itself leaves none. */
const TAG_WRITERS =
  /deepseek-?r1|r1-distill|qwq|qwen3|magistral|minimax-?m|glm-?z1|glm-?4\.[5-9]|phi-?4-reasoning|smollm3|openthinker|s1\.1|nemotron|glm-?5|kimi-k2-thinking|deepseek-?v3\.[1-9]|r1t2|step-?3|hunyuan|exaone-deep|ernie\S*thinking|sonar-reasoning/i;

function writesThinkTags(upstreamModel: string): boolean {
  return TAG_WRITERS.test(upstreamModel);
}

interface Target {
  pool: ReplicaPool;
  model: UpstreamModel;
  media: MediaForm;
  /** One for each server. */
  refused: readonly RefusedFields[];
  cacheSalt: CacheSalt;
  thinkTags: ThinkTagForm;
  /** The parts of answers that were told of: each once, however many answers have it. */
  leftOut: Set<string>;
  makesImages: boolean;
  /** Called with what the server calls the thoughts of its model. */
  onReasoningField: (field: ReasoningField) => void;
}

function generate(
  {
    pool,
    model,
    media: mediaForm,
    refused,
    cacheSalt,
    leftOut,
    thinkTags,
    makesImages,
    onReasoningField,
  }: Target,
  request: EngineRequest,
  {
    signal,
    media,
    tenant,
    route,
    onPiece,
    onFinished,
    onResumed,
    onLeftOut,
    onWithoutField,
    traceparent,
    onAnswer,
    ...progress
  }: GenerateOptions,
): AsyncGenerator<EngineEvent, void> {
  // Let go of once it is sent: it may be a megabyte, and readers may hold up its answer for hours.
  let unsent: EngineRequest | undefined = request;
  const ask = async () => {
    const sent = unsent;
    unsent = undefined;
    if (!sent) throw new RepriseError("internal", "A request is sent to its engine once.");
    const places = await findPlaces({ input: sent.input, turns: progress.turns }, media, mediaForm);
    const salt = cacheSaltOf(cacheSalt, tenant);
    const chat = toChatRequest(sent, progress, model, places.place);
    const json = JSON.stringify(salt === undefined ? chat : { ...chat, cache_salt: salt });
    // An earlier attempt was lost between its last token and its end, or the last token was a tool call's: nothing is left to ask for.
    if (sent.max_output_tokens !== undefined && countProduced(progress) >= sent.max_output_tokens)
      return undefined;
    // What no other tenant's request finds is another beginning.
    const affinityKey = pool.hasAffinity ? `${salt ?? ""} ${affinityKeyOf(sent)}` : undefined;
    const bodies = createBodies(places, { json, refused, onWithoutField });
    return postToReplica(pool, bodies, { signal, traceparent, route, affinityKey });
  };
  const tellOnce = (part: string) => {
    if (!leftOut.has(part)) onLeftOut?.(part);
    leftOut.add(part);
  };
  const told = { onPiece, onFinished, onResumed, onLeftOut: tellOnce, onAnswer, onReasoningField };
  const wanted = { producedTokens: countText(progress), topLogprobs: request.logprobs };
  const made = { audioType: audioTypeOf(request.options?.["audio"]), makesImages, thinkTags };
  return readChatStream(ask, { signal, ...wanted, ...made, ...told });
}
