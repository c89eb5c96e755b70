import type { LanguageModelV4CallOptions, SharedV4Warning } from "@ai-sdk/provider";
import { type GenerationRequest, RepriseError, type Tool } from "@reprise/client";
import { PROVIDER } from "./provider-name.ts";
import { toInput } from "./to-input.ts";

export interface Call {
  readonly request: GenerationRequest;
  /** Key from `providerOptions.reprise.idempotencyKey`, or from the header `idempotency-key`. */
  readonly idempotencyKey: string | undefined;
  /** The parts of the call that are left out. */
  readonly warnings: SharedV4Warning[];
}

/**
 * A call of the AI SDK as a request for a generation. `providerOptions.reprise` has what else a request may say, by its own names (`policy`, `metadata`,
 * `conversation`, …) and `idempotencyKey`.
 * @throws RepriseError `invalid_request` that names what no request can say
 */
export function toCall(model: string, options: LanguageModelV4CallOptions): Call {
  const { idempotencyKey, ...own } = (options.providerOptions?.[PROVIDER] ??
    {}) as Partial<GenerationRequest> & {
    idempotencyKey?: string;
  };
  const warnings: SharedV4Warning[] = [];
  const headers = Object.entries(options.headers ?? {});
  const key = headers.find(([name]) => name.toLowerCase() === "idempotency-key")?.[1];
  const others = headers.filter(([name]) => !/^(idempotency-key|user-agent)$/i.test(name));
  for (const [name] of others)
    warnings.push({
      type: "unsupported",
      feature: `headers.${name}`,
      details: "give the client a fetch that adds it",
    });
  if (options.includeRawChunks === true)
    warnings.push({
      type: "unsupported",
      feature: "includeRawChunks",
      details: "read the generation with @reprise/client",
    });

  const tools = options.tools?.map((tool) => toTool(tool, warnings));
  const choice = tools?.length ? toToolChoice(options.toolChoice) : undefined;
  const format = toFormat(options.responseFormat);
  const effort = toEffort(options.reasoning, warnings);
  const request = {
    model,
    input: toInput(options.prompt),
    max_output_tokens: options.maxOutputTokens,
    temperature: options.temperature,
    top_p: options.topP,
    top_k: options.topK,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    stop: options.stopSequences?.length ? options.stopSequences : undefined,
    seed: options.seed,
    tools: tools?.length ? tools : undefined,
    tool_choice: choice,
    // The SDK runs tools itself, and continues with a call that has their answers.
    tool_calls: tools?.length ? "end" : undefined,
    response_format: format,
    reasoning: effort && { effort },
    ...own,
  } satisfies { [Field in keyof GenerationRequest]?: GenerationRequest[Field] | undefined };
  return { request, idempotencyKey: idempotencyKey ?? key, warnings };
}

type SdkTool = NonNullable<LanguageModelV4CallOptions["tools"]>[number];

function toTool(tool: SdkTool, warnings: SharedV4Warning[]): Tool {
  if (tool.type !== "function")
    throw new RepriseError("invalid_request", `tools: ${tool.id} is run by another provider.`, {
      param: "tools",
    });
  const { name, description, inputSchema, strict } = tool;
  if (tool.inputExamples?.length)
    warnings.push({
      type: "unsupported",
      feature: `tools.${name}.inputExamples`,
      details: "say them in the tool's description",
    });
  return {
    name,
    ...(description !== undefined && { description }),
    parameters: inputSchema as NonNullable<Tool["parameters"]>,
    ...(strict !== undefined && { strict }),
  };
}

function toToolChoice(choice: LanguageModelV4CallOptions["toolChoice"]): GenerationRequest["tool_choice"] {
  return choice?.type === "tool" ? { name: choice.toolName } : choice?.type;
}

function toFormat(
  format: LanguageModelV4CallOptions["responseFormat"],
): GenerationRequest["response_format"] {
  if (format?.type !== "json") return undefined;
  const { schema, name, description } = format;
  if (!schema) return { type: "json_object" };
  return {
    type: "json_schema",
    schema: schema as Extract<GenerationRequest["response_format"], { type: "json_schema" }>["schema"],
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
  };
}

type Effort = NonNullable<NonNullable<GenerationRequest["reasoning"]>["effort"]>;

function toEffort(
  effort: LanguageModelV4CallOptions["reasoning"],
  warnings: SharedV4Warning[],
): Effort | undefined {
  if (effort === undefined || effort === "provider-default") return undefined;
  if (effort !== "max") return effort;
  warnings.push({ type: "compatibility", feature: "reasoning", details: "max is asked for as xhigh" });
  return "xhigh";
}
