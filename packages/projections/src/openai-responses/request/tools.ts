import { LIMITS, RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { ignored, only, isGiven } from "./optional.ts";

const toolSchema = z.strictObject({
  type: z.literal("function", { error: "must be function: the platform runs no tools of its own" }),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.unknown(),
  strict: z.boolean().nullish(),
  output_schema: ignored,
  allowed_callers: z.array(z.literal("direct", { error: "must be direct" })).nullish(),
  async: only([false], "is not supported"),
  defer_loading: only([false], "is not supported"),
});
type Tool = z.infer<typeof toolSchema>;

export const toolsSchema = z.array(toolSchema).max(LIMITS.tools);

const functionChoice = z.strictObject({ type: z.literal("function"), name: z.string() });
const allowedTools = z.strictObject({
  type: z.literal("allowed_tools"),
  mode: z.enum(["auto", "required"], { error: "must be auto or required" }),
  tools: z.array(functionChoice).max(LIMITS.tools),
});

export const toolChoiceSchema = z.union(
  [
    z.enum(["auto", "none", "required"]),
    z.discriminatedUnion("type", [functionChoice, allowedTools], {
      error: "must be a choice of the type function or allowed_tools",
    }),
  ],
  { error: "must be auto, none, required, {type: function, name} or {type: allowed_tools, mode, tools}" },
);
type ToolChoice = z.infer<typeof toolChoiceSchema>;

interface ToolFields {
  readonly tools?: readonly Tool[] | null | undefined;
  readonly tool_choice?: ToolChoice | null | undefined;
  readonly parallel_tool_calls?: boolean | null | undefined;
}

/**
 * The tool fields in the native form. Fields with default values (`auto`, parallel calls, not strict) are left out, because an engine that knows no other
 * may refuse them.
 * @throws RepriseError `invalid_request`
 */
export function toToolFields({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: ToolFields): Record<string, unknown> {
  if (!tools || tools.length === 0) {
    if (!isGiven(choice) || choice === "auto" || choice === "none") return {};
    throw new RepriseError("invalid_request", "tool_choice: needs tools", { param: "tool_choice" });
  }
  return {
    tools: allowedOf(tools, choice).map(toTool),
    // The client answers with its next request.
    tool_calls: "end",
    tool_choice: toChoice(choice),
    parallel_tool_calls: parallel === false ? false : undefined,
  };
}

function toTool({ name, description, parameters, strict }: Tool): object {
  return {
    name,
    ...(isGiven(description) && { description }),
    ...(isGiven(parameters) && { parameters }),
    ...(strict && { strict }),
  };
}

function toChoice(choice: ToolChoice | null | undefined): unknown {
  if (!isGiven(choice) || choice === "auto") return undefined;
  if (typeof choice === "string") return choice;
  if (choice.type === "function") return { name: choice.name };
  return choice.mode === "required" ? "required" : undefined;
}

function allowedOf(tools: readonly Tool[], choice: ToolChoice | null | undefined): readonly Tool[] {
  if (typeof choice !== "object" || choice?.type !== "allowed_tools") return tools;
  const names = new Set(choice.tools.map(({ name }) => name));
  const allowed = tools.filter(({ name }) => names.has(name));
  if (allowed.length === names.size && allowed.length > 0) return allowed;
  const param = "tool_choice.tools";
  throw new RepriseError("invalid_request", `${param}: must name 1 or more functions of tools`, { param });
}
