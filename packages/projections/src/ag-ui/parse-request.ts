import {
  type GenerationRequest,
  type Message,
  parseGenerationRequest,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import { renamedError } from "../renamed-error.ts";
import { type ParsedMessages, parseMessages } from "./parse-messages.ts";
import { type RunInput, runInputSchema } from "./request-schema.ts";
import { RUN_ID_METADATA, THREAD_ID_METADATA } from "./run-names.ts";

export interface ParseOptions {
  /** The model of a run without `forwardedProps.model`: the URL's, or the only one that the caller may use; undefined if there is none. */
  readonly model?: string | undefined;
  /** True if a model accepts its earlier reasoning. */
  readonly keepsReasoning: (model: string) => boolean;
}

export interface ParsedRun {
  readonly threadId: string;
  readonly runId: string;
  readonly request: GenerationRequest;
  /** The messages as the client sent them, for the snapshot of a run that the client reconnects to. */
  readonly messages: readonly { readonly id: string }[];
}

/** Fields of a native request that the protocol says in its own way. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  input: "is what messages says",
  tools: "is a field of its own",
  tool_calls: "is always end: a call ends the run, and the next run has its answer in messages",
  conversation: "can't be named: messages holds the whole thread",
  previous_generation: "can't be named: messages holds the whole thread",
};

/**
 * The body of AG-UI's `POST`, a `RunAgentInput`.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param`, as the client calls it; `capability_unsupported`
 */
export function parseRunInput(body: unknown, options: ParseOptions): ParsedRun {
  return toRun(parseWith(runInputSchema, body), options);
}

/** A run's native request. Errors name what the client has sent. */
export function toRun(run: RunInput, { model: fallback, keepsReasoning }: ParseOptions): ParsedRun {
  const { threadId, runId, messages, tools, context, state, resume, forwardedProps } = run;
  if (!isEmpty(state))
    throw refused("state", "is shown to no model: say in context or messages what it is to know");
  if (resume && resume.length > 0)
    throw refused("resume", "answers interrupts, of which there are none here");
  const { metadata, ...props } = forwardedProps ?? {};
  for (const [field, why] of Object.entries(OWN_FIELDS))
    if (Object.hasOwn(props, field)) throw refused(`forwardedProps.${field}`, why);
  const model = props["model"] ?? fallback;
  if (model === undefined)
    throw refused("forwardedProps.model", "must name a model, unless the URL does: …?model=<name>");
  const parsed = parseMessages(messages, {
    keepsReasoning: typeof model === "string" && keepsReasoning(model),
  });
  const instructions = toInstructions(context);
  const native = {
    ...props,
    model,
    input: [...instructions, ...parsed.input],
    ...(tools.length > 0 && { tools: tools.map(toTool), tool_calls: "end" }),
    metadata: withNames(metadata, run),
  };
  try {
    return { threadId, runId, request: parseGenerationRequest(native), messages };
  } catch (error) {
    throw renamed(error, parsed, instructions.length);
  }
}

/** Metadata that is no object is refused by the native parser, as what it is. */
function withNames(metadata: unknown, { threadId, runId }: RunInput): unknown {
  if (metadata !== undefined && (typeof metadata !== "object" || metadata === null)) return metadata;
  return { ...metadata, [THREAD_ID_METADATA]: threadId, [RUN_ID_METADATA]: runId };
}

/** The context as the system's word before all messages. */
function toInstructions(context: RunInput["context"]): Message[] {
  if (context.length === 0) return [];
  const content = context.map(({ description, value }) => `${description}: ${value}`).join("\n");
  return [{ role: "system", content }];
}

function toTool({ name, description, parameters }: RunInput["tools"][number]): object {
  return { name, description, ...(parameters !== undefined && { parameters }) };
}

function isEmpty(state: unknown): boolean {
  if (state === undefined || state === null) return true;
  return typeof state === "object" && Object.keys(state).length === 0;
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}

/** An error about the native request, as one about what the client has sent. */
function renamed(error: unknown, { origins }: ParsedMessages, instructions: number): unknown {
  if (!(error instanceof RepriseError)) return error;
  return renamedError(error, (param) => clientParam(param, origins, instructions));
}

function clientParam(param: string, origins: readonly number[], instructions: number): string {
  const [field, index, ...rest] = param.split(".");
  if (field === "tools") return param;
  if (field !== "input") return `forwardedProps.${param}`;
  if (index === undefined) return "messages";
  const origin = origins[Number(index) - instructions];
  return origin === undefined ? "context" : ["messages", origin, ...rest].join(".");
}
