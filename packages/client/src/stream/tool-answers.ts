import { type Generation, RepriseError, type ToolContent } from "@reprise/protocol/wire";

/** A call that waits for its answer. `arguments` is the text that the model made: JSON, as a rule. */
export type ToolCall = Generation["tool_calls"][number];

export interface ToolContext {
  /** The same however often the call is met: a key for what must not be done twice. */
  readonly callId: string;
  /** Aborted when the stream is over, for any reason: the answer is of no use any more. */
  readonly signal: AbortSignal;
}

/**
 * Answers the calls of one function. `args` is what the model's text parses to, `{}` for an empty one, or the text itself where
 * it is not JSON: model output, to be checked. What it returns is sent as JSON, undefined as null.
 */
export type ToolHandler = (args: unknown, context: ToolContext) => unknown;

/** By the name of the function. Calls of functions that are not here are left to others. */
export type ToolHandlers = Readonly<Record<string, ToolHandler>>;

/** The answer to one tool call. */
export interface ToolResult {
  callId: string;
  /** Any JSON value. One of the two. */
  output?: unknown;
  /** Parts, as those of a request: texts, and images, audio and files by `blob` or as data URLs. */
  content?: ToolContent;
}

export interface ToolAnswersOptions {
  readonly handlers: ToolHandlers;
  readonly submit: (result: ToolResult) => Promise<unknown>;
  readonly signal: AbortSignal;
  /** Called with the error that a handler throws, or with the problem of its answer. */
  readonly onFailure: (error: unknown) => void;
}

/** The app's own functions at work: runs each call once, all that wait at the same time, and sends the answers. */
export class ToolAnswers {
  readonly #options: ToolAnswersOptions;
  readonly #begun = new Set<string>();

  constructor(options: ToolAnswersOptions) {
    this.#options = options;
  }

  answer(calls: readonly ToolCall[]): void {
    const { handlers, onFailure } = this.#options;
    for (const call of calls) {
      if (!Object.hasOwn(handlers, call.name) || this.#begun.has(call.call_id)) continue;
      this.#begun.add(call.call_id);
      // `hasOwn` has found the handler.
      this.#run(handlers[call.name]!, call).catch(onFailure);
    }
  }

  async #run(handler: ToolHandler, { call_id: callId, arguments: text }: ToolCall): Promise<void> {
    const { submit, signal } = this.#options;
    const output = (await handler(parseArguments(text), { callId, signal })) ?? null;
    try {
      await submit({ callId, output });
    } catch (error) {
      if (!isAnsweredElsewhere(error)) throw error;
    }
  }
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return text;
  }
}

/** The answer is not wanted any more: another answer was faster, the call was rewound, or the generation is over. */
function isAnsweredElsewhere(error: unknown): boolean {
  const codes = ["tool_result_conflict", "tool_call_not_found", "generation_ended"];
  return error instanceof RepriseError && codes.includes(error.code);
}
