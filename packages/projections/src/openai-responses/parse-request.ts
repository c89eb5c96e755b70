import {
  type ConversationId,
  type GenerationId,
  type GenerationRequest,
  parseGenerationRequest,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import { parseProtocolId } from "../protocol-id.ts";
import { bodySchema, type ResponsesBody, SAME } from "./request/body.ts";
import { givenOf, isGiven } from "./request/optional.ts";
import type { InputItem } from "./request/input-items.ts";
import { inResponsesWords } from "./request/param-names.ts";
import { toMessages } from "./request/to-messages.ts";
import { toToolFields } from "./request/tools.ts";

/** The turn of a conversation that a request follows. */
export interface Predecessor {
  readonly conversation: ConversationId;
  readonly previous_generation?: GenerationId;
}

/** A body of `POST /v1/responses` that was parsed. */
export interface ResponsesRequest {
  /** Events as they come, or one JSON body. */
  readonly stream: boolean;
  /** True if the JSON body shows the response as it begins, and not as it ends. */
  readonly background: boolean;
  /** Undefined: `toNative` refuses the request. */
  readonly model: string | undefined;
  /** The response that the request follows. */
  readonly previous: GenerationId | undefined;
  /** The ids of the items that the input names, each once. */
  readonly references: readonly string[];
  /**
   * Builds the native request. A tool call ends it: the client answers with its next request.
   * @param items the items that `references` names
   * @param place where the turn of `previous` is
   * @throws RepriseError `invalid_request` that names the first wrong field in `param`, as OpenAI's API calls it
   */
  readonly toNative: (items: ReadonlyMap<string, unknown>, predecessor?: Predecessor) => GenerationRequest;
}

/** @throws RepriseError `invalid_request` that names the first wrong field in `param` */
export function parseResponsesRequest(body: unknown): ResponsesRequest {
  const fields = parseWith(bodySchema, body);
  const { stream, background, previous_response_id: previous, conversation, input } = fields;
  if (isGiven(previous) && isGiven(conversation)) {
    throw refused("previous_response_id", "can't be sent with conversation: that has its last response");
  }
  const references =
    typeof input === "string" ? [] : input.flatMap(({ type, id }) => (type === "item_reference" ? [id] : []));
  return {
    stream: stream ?? false,
    background: background ?? false,
    previous: isGiven(previous) ? parseProtocolId("resp_", previous) : undefined,
    model: typeof fields.model === "string" ? fields.model : undefined,
    references: [...new Set(references)],
    toNative: (items, predecessor) => toNative(fields, items, predecessor),
  };
}

function toNative(
  fields: ResponsesBody,
  items: ReadonlyMap<string, unknown>,
  predecessor: Predecessor | undefined,
): GenerationRequest {
  const { input, origins } = toInput(fields, items);
  const { conversation, reasoning } = fields;
  const { effort } = reasoning ?? {};
  const native = {
    ...Object.fromEntries(SAME.map((name) => [name, fields[name]])),
    input,
    conversation: typeof conversation === "object" ? conversation?.id : conversation,
    ...predecessor,
    ...toToolFields(fields),
    logprobs: logprobsOf(fields),
    // What changes nothing is not asked of an engine that may not have it.
    top_p: fields.top_p === 1 ? undefined : fields.top_p,
    stop: typeof fields.stop === "string" ? [fields.stop] : fields.stop,
    reasoning: isGiven(effort) ? { effort } : undefined,
    response_format: formatOf(fields),
    verbosity: fields.text?.verbosity,
    service_tier: fields.service_tier === "fast" ? "priority" : fields.service_tier,
    subject: fields.safety_identifier,
    end_user: fields.user,
  };
  try {
    return parseGenerationRequest(givenOf(native));
  } catch (error) {
    throw error instanceof RepriseError ? inResponsesWords(error, origins) : error;
  }
}

function toInput(
  { input, instructions }: ResponsesBody,
  items: ReadonlyMap<string, unknown>,
): { input: unknown; origins: readonly number[] } {
  const system = isGiven(instructions) ? [{ role: "system", content: instructions }] : [];
  if (typeof input === "string") {
    return {
      input: system.length === 0 ? input : [...system, { role: "user", content: input }],
      origins: [],
    };
  }
  const { messages, origins } = toMessages(input.map((item, i) => resolve(item, i, items)));
  // A wrong field of the instructions would be named as one of the input: they have none that can be wrong.
  return { input: [...system, ...messages], origins: [...system.map(() => 0), ...origins] };
}

/** An item in the place of a reference to it. */
function resolve(item: InputItem, index: number, items: ReadonlyMap<string, unknown>): InputItem {
  if (item.type !== "item_reference") return item;
  const found = items.get(item.id);
  if (found === undefined) throw refused(`input.${index}.id`, "names no item of a response");
  return parseWith(bodySchema.shape.input, [found])[0] as InputItem;
}

function logprobsOf({ top_logprobs: top, include }: ResponsesBody): number | undefined {
  const isIncluded = include?.includes("message.output_text.logprobs") ?? false;
  if (isGiven(top) && top > 0) return top;
  return isIncluded ? 0 : undefined;
}

function formatOf({ text }: ResponsesBody): unknown {
  const format = text?.format;
  if (!isGiven(format) || format.type === "text") return undefined;
  return givenOf(format);
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
