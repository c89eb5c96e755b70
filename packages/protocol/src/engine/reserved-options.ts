/*
 * Fields that `options` may not set, and why. The names are those that OpenAI, vLLM, SGLang, llama.cpp, TGI, Ollama, LM Studio and Mistral
 * have, on any of their endpoints: a gateway in front of them may know more than one.
 */

const OWN_FIELD = "is set by the request's own field";
const PLATFORM = "is set by the platform";
const UNDELIVERABLE = "asks for what this version can't deliver";
const BEYOND = "reaches beyond this request";
const NESTED = "may hold fields that the request or the platform sets: name them one by one";

const RESERVED: Readonly<Record<string, string>> = {
  [OWN_FIELD]: `
    model models model_id base_model adapter adapters adapter_id lora loras lora_path lora_request lora_name draft_model
    messages prompt prompts input inputs input_ids input_embeds prompt_embeds prompt_token_ids text system system_prompt instructions
    conversation context suffix input_prefix input_suffix input_extra truncate truncation truncate_prompt_tokens
    max_tokens max_token max_completion_tokens max_output_tokens max_new_tokens max_tokens_to_sample max_generated_tokens
    max_gen_len max_gen_toks max_length n_predict num_predict num_tokens max_predict
    temperature temp dynatemp_range dynatemp_exponent do_sample greed_sampling greedy use_beam_search
    stop stops stop_sequence stop_sequences stop_strings stop_string stop_words stop_regex stop_token stop_tokens stop_token_ids
    reverse_prompt antiprompt include_stop_str_in_output include_stop_string_in_output no_stop_trim
    seed seeds random_seed sampling_seed rng_seed
    tools functions mcp_servers integrations plugins`,
  [PLATFORM]: `
    stream streaming stream_options stream_usage stream_include_usage include_usage continuous_usage_stats timings_per_token
    continue_final_message continue_assistant_turn add_generation_prompt prefix prefill prefill_assistant assistant_prefix
    response_prefix raw template chat_template echo response_fields`,
  [UNDELIVERABLE]: `
    n best_of n_cmpl num_return_sequences num_completions candidate_count n_choices
    function_call web_search_options search_parameters prompt_logprobs
    logprobs top_logprobs top_logprobs_num return_logprob logprob_start_len token_ids_logprob return_text_in_logprobs
    logprob_token_ids n_probs post_sampling_probs top_n_tokens details decoder_input_details return_full_text
    return_tokens return_token_ids return_tokens_as_token_ids return_prompt_token_ids return_hidden_states return_routed_experts
    background`,
  [BEYOND]: `
    priority request_id rid session_id conversation_id previous_response_id response_id cache_salt extra_key prompt_cache_key
    prompt_cache_retention kv_transfer_params bootstrap_host bootstrap_port bootstrap_room disaggregated_params data_parallel_rank
    routed_dp_rank id_slot slot_id slot cache_slot n_cache_reuse keep_alive ttl num_ctx store custom_logit_processor
    logits_processors`,
  [NESTED]: `
    options extra_body extra_args extra_params extra_query body params parameters sampling_params sampling_parameters
    generation_config generate_config inference_config model_kwargs provider_options vllm_xargs nvext`,
};

/** Arguments that a chat template gets in addition to the fields of the request, and that could override them. */
const TEMPLATE_ARGUMENTS = new Set(
  "messages conversation tools add_generation_prompt continue_final_message chat_template tokenize"
    .split(" ")
    .map(foldOptionName),
);

const REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries(RESERVED).flatMap(([reason, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [foldOptionName(name), reason] as const),
  ),
);

/** Why an option is refused; undefined for one that is the upstream's to judge. */
export function reservedBecause(name: string): string | undefined {
  return REASONS.get(foldOptionName(name));
}

/** The same for an entry of `chat_template_kwargs`. */
export function reservedInTemplateBecause(name: string): string | undefined {
  return TEMPLATE_ARGUMENTS.has(foldOptionName(name)) ? OWN_FIELD : undefined;
}

/** One name for all that some upstream reads as that name: Go's JSON finds a field in any case, with the letters ſ and K too. */
export function foldOptionName(name: string): string {
  return name
    .replaceAll(/[\s_.-]/g, "")
    .toUpperCase()
    .toLowerCase();
}
