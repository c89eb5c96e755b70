import { type Capability, contextTokensSchema, type Dialect } from "@reprise/protocol";
import * as z from "zod";

/** What a model server says of a model. */
export interface ToldModel {
  readonly capabilities: readonly Capability[];
  /** How many tokens the model takes there, its answer among them. */
  readonly contextTokens: number | undefined;
  /** How many it was made for: the server may take fewer. */
  readonly mostTokens: number | undefined;
}

/** Asked with GET, or with POST where there is something to say. */
export interface Question {
  /** Behind the base URL; `../` is in the place of its last segment. */
  readonly path: string;
  readonly body?: (upstreamModel: string) => object;
  /** Of any value; what is malformed tells nothing. */
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
  /** Mistral; LM Studio, whatever it has loaded the model with. */
  max_context_length: tokens,
  loaded_context_length: tokens,
  /** LM Studio: `llm`, `vlm`. */
  type: z.string().optional().catch(undefined),
});
type Model = z.infer<typeof modelSchema>;
const listSchema = z.object({ data: z.array(modelSchema) });

const MODELS = "/models";

/** What servers are asked, by their dialect: the second where the first does not tell how many tokens the model takes. Others are not asked. */
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

/** Of the model in a list; a list of one is of that one: llama.cpp serves one model, whatever it is asked for. */
function ofModel(tell: (model: Model) => Partial<ToldModel>): Question["parse"] {
  return (answer, upstreamModel) => {
    const models = listSchema.safeParse(answer).data?.data ?? [];
    const model =
      models.find(({ id }) => id === upstreamModel) ?? (models.length === 1 ? models[0] : undefined);
    return model ? tell(model) : {};
  };
}
