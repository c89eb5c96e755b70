import { describe, expect, test } from "vitest";
import { NO_PROGRESS } from "../../engine.ts";
import { toChatRequest } from "./chat-request.ts";

const MODEL = {
  upstreamModel: "org/m",
  continuation: "none",
  maxTokensField: "max_tokens",
  dialect: "openai",
} as const;
const bodyOf = (options: Record<string, unknown>) =>
  toChatRequest(
    { model: "public", input: "Hi", max_output_tokens: 8, options: options as never },
    NO_PROGRESS,
    MODEL,
  );

/* What each field of a request, and what the platform sets itself, is called by some model server. */
const ALIASES = {
  max_output_tokens:
    "max_tokens max_completion_tokens max_output_tokens n_predict num_predict max_new_tokens max_length max_gen_len",
  input:
    "messages prompt input inputs input_ids input_embeds suffix system raw template truncate_prompt_tokens",
  model: "model model_id lora lora_path adapter_id",
  temperature: "temperature temp dynatemp_range do_sample use_beam_search",
  stop: "stop stop_sequences stop_token_ids stop_regex stop_words include_stop_str_in_output",
  seed: "seed random_seed sampling_seed",
  tools: "tools functions function_call",
  stream: "stream stream_options timings_per_token continue_final_message add_generation_prompt echo",
  several: "n best_of n_cmpl num_return_sequences use_beam_search",
  undelivered:
    "logprobs top_logprobs prompt_logprobs n_probs top_n_tokens return_token_ids web_search_options",
  slots:
    "id_slot slot_id cache_salt priority rid session_id prompt_cache_key kv_transfer_params keep_alive num_ctx",
  nested: "options extra_body parameters sampling_params generation_config vllm_xargs",
};

describe("an option that overrides what the request or the platform sets", () => {
  test.each(Object.entries(ALIASES))("is refused by its name: %s", (_, names) => {
    for (const name of names.split(" ")) {
      expect(() => bodyOf({ [name]: 300 }), name).toThrow(
        expect.objectContaining({
          code: "invalid_request",
          param: `options.${name}`,
          message: expect.stringContaining(`options.${name}: `),
        }) as Error,
      );
    }
  });

  test.each(["Max_Tokens", "N_PREDICT", "maxOutputTokens", "ſtream", "STOP", "num-predict"])(
    "is refused however it is written: %s",
    (name) => {
      expect(() => bodyOf({ [name]: 300 })).toThrow(
        expect.objectContaining({ code: "invalid_request" }) as Error,
      );
    },
  );

  test("is refused in a template's arguments too", () => {
    expect(() => bodyOf({ chat_template_kwargs: { add_generation_prompt: true } })).toThrow(
      expect.objectContaining({ param: "options.chat_template_kwargs.add_generation_prompt" }) as Error,
    );
  });
});

test("what is the engine's own matter goes to it as it is", () => {
  const options = {
    top_p: 0.9,
    top_k: 40,
    min_p: 0.1,
    presence_penalty: 1,
    response_format: { type: "json_object" },
    tool_choice: "auto",
    reasoning_effort: "low",
    chat_template_kwargs: { enable_thinking: false },
    user: "someone",
    ignore_eos: true,
    min_tokens: 2,
  };
  expect(bodyOf(options)).toMatchObject({ ...options, max_tokens: 8 });
});
