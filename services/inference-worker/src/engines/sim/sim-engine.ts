import {
  type Capability,
  parseSimOptions,
  SIM_CAPABILITIES,
  type SimOptions,
  type Usage,
} from "@reprise/protocol";
import {
  countText,
  type Engine,
  type EngineEvent,
  type EngineRequest,
  type GenerateOptions,
  type ToolCallEvent,
} from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import { answerInput } from "./answer-input.ts";
import { type Clock, createClock, Schedule } from "./clock.ts";
import { countInputTokens, toSimLogprobs, toTokenSource } from "./sim-tokens.ts";

const DEFAULT_TOOL = "sim_tool";

/** One for all simulators of the process, so that they share its timer. */
const processClock = createClock();

interface SimEngineOptions {
  readonly clock?: Clock;
  /** Default: all that it can pretend. */
  readonly capabilities?: ReadonlySet<Capability>;
}

/**
 * The built-in simulator: an engine for load and tests, not a model. It pays no heed to what the input says,
 * nor to `temperature` and `stop`. Asked for log probabilities it makes them up.
 *
 * The i-th token is a function of the options and i alone, and is due i / tokens_per_second after the first; late ones catch
 * up in one go. A continued run has the same tokens from the produced ones' count on, and its own schedule. Tools are asked for
 * once, for any answers, so that a run has the same text with and without tools.
 */
export function createSimEngine({
  clock = processClock,
  capabilities = SIM_CAPABILITIES,
}: SimEngineOptions = {}): Engine {
  return {
    name: "sim",
    capabilities,
    // No run of it waits for another.
    servers: Number.POSITIVE_INFINITY,
    canContinue(request) {
      try {
        const { continuable, answer, revise } = parseSimOptions(request);
        // It tells a reply, or an item that is not final, from its beginning.
        return continuable && !(request.input_stream && (answer === "reply" || revise));
      } catch {
        // Wrong options are answered by `generate`, where an error ends the generation.
        return false;
      }
    },
    countInput: countInputTokens,
    generate: (request, options) =>
      request.input_stream ? answerInput(clock, request, options) : simulate(clock, request, options),
    close: async () => undefined,
  };
}

async function* simulate(
  clock: Clock,
  request: EngineRequest,
  { turns, prefix, signal }: GenerateOptions,
): AsyncGenerator<EngineEvent> {
  const options = parseSimOptions(request);
  signal.throwIfAborted();
  const source = toTokenSource(options, request.seed);
  const { logprobs } = request;
  const { fail_after_tokens: failAt, stall_after_tokens: stallAt } = options;
  const callAt = turns.some(({ type }) => type === "tool_result")
    ? undefined
    : options.tool_call_after_tokens;
  const begin = countText({ turns, prefix });
  const end = Math.min(source.count, request.max_output_tokens ?? source.count);
  using schedule = new Schedule(clock, signal, options);

  // A continued run has sent them already.
  for (const said of begin === 0 && prefix.text === "" ? (options.says ?? []) : []) {
    yield toSaid(said);
    signal.throwIfAborted();
  }

  for (let index = begin; ; index++) {
    if (failAt !== undefined && index >= failAt) {
      const message = `The simulator was told to fail after ${failAt} tokens.`;
      throw new EngineError("engine_failed", message, { retry: "never" });
    }
    if (stallAt !== undefined && index >= stallAt) await schedule.sleepForEver();
    if (index >= end && index !== callAt) break;
    const due = schedule.untilDue(index - begin);
    if (due) await due;
    if (index === callAt) {
      for (const call of toToolCalls(options, request)) {
        yield call;
        signal.throwIfAborted();
      }
      yield { type: "finish", reason: "tool_calls", ...reportUsage(options, request, index - begin) };
      return;
    }
    const cached = index === begin ? cachedOf(options, request) : undefined;
    const text = source.tokenAt(index);
    const said: EngineEvent =
      cached === undefined ? { type: "text", text } : { type: "text", text, cachedInputTokens: cached };
    yield logprobs === undefined ? said : { ...said, logprobs: toSimLogprobs(text, index, logprobs) };
    signal.throwIfAborted();
  }
  const reason = end < source.count ? "length" : "stop";
  yield { type: "finish", reason, ...reportUsage(options, request, Math.max(0, end - begin)) };
}

function toSaid(said: NonNullable<SimOptions["says"]>[number]): EngineEvent {
  if (said.type === "blob") {
    const { kind, media_type: mediaType, data } = said;
    return { type: "media", kind, mediaType, bytes: Buffer.from(data, "base64"), isLast: true };
  }
  if (said.type !== "annotation") return said;
  const { url, title, from, to } = said;
  return {
    type: "annotation",
    kind: "url",
    url,
    ...(title !== undefined && { title }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

function cachedOf({ cached_input_tokens: cached }: SimOptions, request: EngineRequest): number | undefined {
  return cached === undefined ? undefined : Math.min(cached, countInputTokens(request));
}

/** Said only where the options ask for what no text tells. */
function reportUsage(options: SimOptions, request: EngineRequest, said: number): { usage?: Usage } {
  const cached = cachedOf(options, request);
  const { reasoning_tokens: reasoning } = options;
  if (cached === undefined && reasoning === undefined) return {};
  return {
    usage: {
      input_tokens: countInputTokens(request),
      output_tokens: said + (reasoning ?? 0),
      ...(cached !== undefined && { cached_input_tokens: cached }),
      ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    },
  };
}

/** The calls that the options ask for, of the request's tools in turn: a function of the two, as the tokens are. */
function toToolCalls(
  { tool_call_after_tokens: at, tool_calls: count = 1 }: SimOptions,
  { tools = [] }: EngineRequest,
): ToolCallEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    type: "tool_call",
    callId: `sim_call_${at}_${i}`,
    name: tools[i % tools.length]?.name ?? DEFAULT_TOOL,
    arguments: JSON.stringify({ after_tokens: at, call: i }),
  }));
}
