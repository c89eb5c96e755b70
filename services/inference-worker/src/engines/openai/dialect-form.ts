import type { Dialect, ReasoningItem } from "@reprise/protocol";
import type { PlaceMedia } from "./request/placed-media.ts";

type Reasoning = string | readonly ReasoningItem[];

/** The form of a conversation's messages, which differs between upstreams. */
export interface MessageForm {
  /** Default: content that is in the request itself. */
  readonly place?: PlaceMedia | undefined;
  /** True if the upstream accepts parts of the type `refusal`. Other upstreams get the text. */
  readonly refusalParts: boolean;
  /**
   * The fields that hold what the model has thought before an earlier turn.
   * @param said the content of that turn, which some upstreams have the thoughts in
   */
  readonly reasoning: (reasoning: Reasoning, said: string | object[] | null) => Record<string, unknown>;
}

/** The upstream's names of fields. A list is a path. */
export interface FieldNames {
  readonly repetitionPenalty: string;
  /** A template's argument where it is no field. */
  readonly reasoningEffort: "reasoning_effort" | "chat_template_kwargs";
  readonly reasoningBudget: string;
  /** Mistral's name for it is older than the API's. */
  readonly requiredChoice: "required" | "any";
  /** llama.cpp gives none where it is asked for 0 others. */
  readonly leastTopLogprobs: 0 | 1;
  /** `value`: TGI has the schema as the value of the format. */
  readonly jsonSchema: "json_schema" | "value";
}

export interface DialectForm extends MessageForm, FieldNames {}

const OPENAI: DialectForm = {
  refusalParts: true,
  reasoning: thoughtsAs("reasoning_content"),
  repetitionPenalty: "repetition_penalty",
  reasoningEffort: "reasoning_effort",
  reasoningBudget: "thinking_token_budget",
  requiredChoice: "required",
  jsonSchema: "json_schema",
  leastTopLogprobs: 0,
};

const FORMS: Readonly<Record<Dialect, DialectForm>> = {
  openai: OPENAI,
  vllm: { ...OPENAI, reasoning: thoughtsAs("reasoning") },
  sglang: { ...OPENAI, refusalParts: false },
  "llama.cpp": {
    ...OPENAI,
    refusalParts: false,
    repetitionPenalty: "repeat_penalty",
    reasoningEffort: "chat_template_kwargs",
    reasoningBudget: "thinking_budget_tokens",
    leastTopLogprobs: 1,
  },
  tgi: { ...OPENAI, refusalParts: false, jsonSchema: "value" },
  ollama: { ...OPENAI, refusalParts: false, reasoning: thoughtsAs("reasoning") },
  "lm-studio": { ...OPENAI, refusalParts: false, repetitionPenalty: "repeat_penalty" },
  mistral: { ...OPENAI, refusalParts: false, reasoning: thoughtsInContent, requiredChoice: "any" },
};

/** Names of the field of thoughts that servers give and take. */
export const REASONING_FIELDS = ["reasoning", "reasoning_content"] as const;
export type ReasoningField = (typeof REASONING_FIELDS)[number];

/**
 * @param reasoning what the server calls the thoughts in its own answers: several refuse the other name (Groq, Cerebras: `reasoning_content`). Default:
 * what its dialect calls them
 */
export function formOf(dialect: Dialect, reasoning?: ReasoningField): DialectForm {
  const form = FORMS[dialect];
  if (reasoning === undefined || form.reasoning === thoughtsInContent) return form;
  return { ...form, reasoning: thoughtsAs(reasoning) };
}

/** Thoughts as a text in a field of their own; sealed ones in the list that gateways have for them. */
function thoughtsAs(field: string): MessageForm["reasoning"] {
  return (reasoning) => {
    const { text, sealed } = split(reasoning);
    return {
      ...(text !== undefined && { [field]: text }),
      ...(sealed.length > 0 && { reasoning_details: sealed }),
    };
  };
}

/** Mistral's: a part in front of the others. */
function thoughtsInContent(reasoning: Reasoning, said: string | object[] | null): Record<string, unknown> {
  const { text, sealed } = split(reasoning || []);
  const parts = typeof said === "string" ? [{ type: "text", text: said }] : (said ?? []);
  const thinking = { type: "thinking", thinking: [{ type: "text", text }], closed: true };
  return {
    ...(text !== undefined && { content: [thinking, ...parts] }),
    ...(sealed.length > 0 && { reasoning_details: sealed }),
  };
}

function split(reasoning: Reasoning): { text: string | undefined; sealed: object[] } {
  if (typeof reasoning === "string") return { text: reasoning, sealed: [] };
  const texts = reasoning.flatMap((item) => ("text" in item ? [item.text] : []));
  const sealed = reasoning.flatMap((item) => ("encrypted" in item ? [item] : []));
  return {
    text: texts.length > 0 ? texts.join("\n") : undefined,
    sealed: sealed.map(({ encrypted, id, summary }, index) => ({
      type: "reasoning.encrypted",
      data: encrypted,
      ...(id !== undefined && { id }),
      ...(summary && { summary: summary.join("\n") }),
      index,
    })),
  };
}
