import type { SimOptions } from "@reprise/protocol";
import type { EngineRequest, ToolCallEvent } from "../engine.ts";

const DEFAULT_TOOL = "sim_tool";

/** The calls that the options ask for, of the request's tools in turn: a function of the two, as the tokens are. */
export function toToolCalls(
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
