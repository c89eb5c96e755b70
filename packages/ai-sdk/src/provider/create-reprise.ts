import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type ClientOptions, createClient, RepriseError } from "@reprise/client";
import { createLanguageModel } from "./language-model.ts";

export interface RepriseProviderOptions extends Omit<ClientOptions, "url"> {
  /** Where the platform is: `https://…`, with a path if it has one. Without `/v1`. */
  baseUrl: string;
}

/** Calls with the model's name, or by `languageModel`; `streamText` and `generateText` take what it returns. */
export interface RepriseProvider {
  (modelId: string): LanguageModelV4;
  readonly specificationVersion: "v4";
  languageModel(modelId: string): LanguageModelV4;
  /** @throws RepriseError `capability_unsupported`: there are language models alone */
  embeddingModel(modelId: string): never;
  /** @throws RepriseError `capability_unsupported`: there are language models alone */
  imageModel(modelId: string): never;
}

/**
 * The platform as a provider of the AI SDK. A call of a model is a generation: a connection that breaks is resumed, and no model runs twice. What
 * retries the client does it does itself, so `maxRetries: 0` costs a caller nothing.
 * @throws RepriseError `invalid_request` that names the wrong option
 */
export function createReprise({ baseUrl, ...options }: RepriseProviderOptions): RepriseProvider {
  const client = createClient({ ...options, url: baseUrl });
  const languageModel = (modelId: string): LanguageModelV4 => createLanguageModel(modelId, client);
  const refuse = (kind: string) => (modelId: string) => {
    throw new RepriseError("capability_unsupported", `${modelId}: Reprise has no ${kind} models.`, {
      param: "modelId",
    });
  };
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: "v4" as const,
    languageModel,
    embeddingModel: refuse("embedding"),
    imageModel: refuse("image"),
  });
}
