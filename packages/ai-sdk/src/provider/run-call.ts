import {
  type Client,
  type GenerationRequest,
  type GenerationStream,
  type Message,
  RepriseError,
  type RunOptions,
  type StreamEvent,
} from "@reprise/client";

/** Field of a refused create: `input.3.reasoning.0` is a sealed form of reasoning, `input.3.reasoning` its text. */
const OF_REASONING = /^input\.\d+\.reasoning(?<sealed>\.\d+)?$/;

/** A generation that a call of the AI SDK has asked for. Iterated once, by hand: `return` ends a `next` that waits. */
export interface CallRun {
  /** Undefined until the platform has answered. */
  readonly id: string | undefined;
  /** The last request. */
  readonly request: GenerationRequest;
  next(): Promise<IteratorResult<StreamEvent, undefined>>;
  return(): Promise<void>;
}

/**
 * Runs a call. The AI SDK hands a model's reasoning back with the next step, and not every model takes it: where the platform refuses it, for which it stores
 * nothing, the request is sent again without.
 */
export function runCall(
  { generations }: Pick<Client, "generations">,
  first: GenerationRequest,
  options: RunOptions,
): CallRun {
  let request = first;
  let stream: GenerationStream = generations.run(request, options);
  let events = stream[Symbol.asyncIterator]();
  return {
    get id() {
      return stream.id;
    },
    get request() {
      return request;
    },
    async next() {
      for (;;)
        try {
          const { done, value } = await events.next();
          return done === true ? { done, value: undefined } : { done: false, value };
        } catch (error) {
          const rest = withoutRefused(request, error);
          if (rest === undefined) throw error;
          request = rest;
          stream = generations.run(request, options);
          events = stream[Symbol.asyncIterator]();
        }
    },
    async return() {
      await events.return?.();
    },
  };
}

/** The request without the form of reasoning that was refused. Undefined where something else was. */
function withoutRefused(request: GenerationRequest, error: unknown): GenerationRequest | undefined {
  if (!(error instanceof RepriseError) || error.code !== "capability_unsupported") return undefined;
  const found = OF_REASONING.exec(error.param ?? "");
  if (!found || typeof request.input === "string") return undefined;
  const field = found.groups?.["sealed"] === undefined ? "text" : "encrypted";
  const input = request.input.map((message) => withoutReasoning(message, field));
  // Nothing was left out of what was refused: it would be refused for ever.
  const isSame = input.every((message, i) => message === (request.input as readonly Message[])[i]);
  return isSame ? undefined : { ...request, input };
}

function withoutReasoning(message: Message, field: "text" | "encrypted"): Message {
  if (message.role !== "assistant" || !message.reasoning || typeof message.reasoning === "string")
    return message;
  const { reasoning, ...said } = message;
  const kept = reasoning.filter((item) => !(field in item));
  if (kept.length === reasoning.length) return message;
  return kept.length > 0 ? { ...said, reasoning: kept } : said;
}
