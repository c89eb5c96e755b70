import { type Capability, contextTokensSchema, type Dialect } from "@reprise/protocol";
import * as z from "zod";

/** A model server's report on a model. */
export interface ToldModel {
  readonly capabilities: readonly Capability[];
  /** The context size on this server in tokens, the answer included. */
  readonly contextTokens: number | undefined;
  /** The context size that the model was made for: the server may take less. */
  readonly mostTokens: number | undefined;
}

/** Asked with GET, or with POST where there is something to say. */
export interface Question {
  /** After the base URL; `../` is in the place of its last segment. */
  readonly path: string;
  readonly body?: (upstreamModel: string) => object;
  /** Accepts any value; a malformed one results in an empty object. */
  readonly parse: (answer: unknown, upstreamModel: string) => Partial<ToldModel>;
}

const tokens = contextTokensSchema.optional().catch(undefined);
const names = z.array(z.string()).optional().catch(undefined);
const texts = z.record(z.string(), z.unknown()).optional().catch(undefined);

/** An entry of a list of models, as the one or the other server has it. */
const modelSchema = z.object({
  id: z.string().optional().catch(undefined),
  /** llama.cpp, and gateways: what goes in. */
  architecture: z.object({ input_modalities: names }).optional().catch(undefined),
  /** Mistral: by name whether the model can. */
  capabilities: texts,
  /** llama.cpp: of a slot, and what the model was trained with. */
  meta: z.object({ n_ctx: tokens, n_ctx_train: tokens }).optional().catch(undefined),
  /** vLLM, SGLang. */
  max_model_len: tokens,
  /** Mistral; LM Studio, for any loaded context size. */
  max_context_length: tokens,
  loaded_context_length: tokens,
  /** LM Studio: `llm`, `vlm`. */
  type: z.string().optional().catch(undefined),
});
type Model = z.infer<typeof modelSchema>;
const listSchema = z.object({ data: z.array(modelSchema) });

const MODELS = "/models";

/** The questions for servers, by dialect: the second follows if the first does not tell the context size. Other dialects are not asked. */
const QUESTIONS: Readonly<Partial<Record<Dialect, readonly [Question, ...Question[]]>>> = {
  "llama.cpp": [
    {
      path: MODELS,
      parse: ofModel(({ architecture, meta }) => ({
        capabilities: toCapabilities(architecture?.input_modalities),
        contextTokens: meta?.n_ctx,
        mostTokens: meta?.n_ctx_train,
      })),
    },
    {
      path: "../props",
      parse: (answer) => ({
        contextTokens: propsSchema.safeParse(answer).data?.default_generation_settings.n_ctx,
      }),
    },
  ],
  mistral: [
    {
      path: MODELS,
      parse: ofModel((model) => ({
        capabilities: toCapabilities(
          Object.entries(model.capabilities ?? {}).flatMap(([name, can]) => (can === true ? [name] : [])),
        ),
        contextTokens: model.max_context_length,
      })),
    },
  ],
  vllm: [{ path: MODELS, parse: ofModel((model) => ({ contextTokens: model.max_model_len })) }],
  sglang: [{ path: MODELS, parse: ofModel((model) => ({ contextTokens: model.max_model_len })) }],
  ollama: [
    {
      path: "../api/show",
      body: (model) => ({ model }),
      parse(answer) {
        const { data } = showSchema.safeParse(answer);
        if (!data) return {};
        const { capabilities, parameters = "", model_info: info = {} } = data;
        const set = /^num_ctx\s+(\d+)\s*$/m.exec(parameters)?.[1];
        return {
          capabilities: toCapabilities(capabilities),
          contextTokens: set === undefined ? undefined : tokens.parse(Number(set)),
          mostTokens: tokens.parse(info[`${String(info["general.architecture"])}.context_length`]),
        };
      },
    },
  ],
  "lm-studio": [
    {
      path: "../api/v0/models",
      parse: ofModel((model) => ({
        capabilities: model.type === "vlm" ? ["images"] : [],
        contextTokens: model.loaded_context_length,
        mostTokens: model.max_context_length,
      })),
    },
  ],
};

const propsSchema = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });
const showSchema = z.object({
  capabilities: names,
  parameters: z.string().optional().catch(undefined),
  model_info: texts,
});

export function questionsFor(dialect: Dialect): readonly Question[] {
  return QUESTIONS[dialect] ?? [];
}

const BY_NAME: Readonly<Record<string, Capability>> = {
  image: "images",
  vision: "images",
  audio: "audio",
  file: "files",
};

function toCapabilities(told: readonly string[] = []): Capability[] {
  return told.flatMap((name) => (Object.hasOwn(BY_NAME, name) ? BY_NAME[name]! : []));
}

/** Finds the model in a list; a list of one is always of that model: llama.cpp serves one model under any name. */
function ofModel(tell: (model: Model) => Partial<ToldModel>): Question["parse"] {
  return (answer, upstreamModel) => {
    const models = listSchema.safeParse(answer).data?.data ?? [];
    const model =
      models.find(({ id }) => id === upstreamModel) ?? (models.length === 1 ? models[0] : undefined);
    return model ? tell(model) : {};
  };
}
