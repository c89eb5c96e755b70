import { EngineError } from "../../engine-error.ts";

/** What one chunk says of one tool call. */
export interface ToolCallDelta {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** A piece of the JSON. */
  readonly arguments: string;
  /** What the provider wants back with the call. */
  readonly providerState: Readonly<Record<string, unknown>> | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** In characters of its JSON. */
const LONGEST_STATE = 65_536;

/**
 * Reads a delta's `tool_calls`, and the older `function_call`. A piece that says nothing is left out.
 * @throws EngineError `engine_failed` for one whose form would lose a call
 */
export function readToolCalls(calls: unknown, older: unknown): readonly ToolCallDelta[] {
  if (calls === undefined || calls === null) return isFields(older) ? toDelta({ function: older }) : NONE;
  return (Array.isArray(calls) ? calls : [calls]).flatMap(toDelta);
}

const NONE: readonly ToolCallDelta[] = [];

function toDelta(call: unknown): ToolCallDelta[] {
  if (call === undefined || call === null) return [];
  if (!isFields(call)) throw malformed();
  // Some have the fields of the function beside it.
  const called = isFields(call["function"]) ? call["function"] : call;
  const name = called["name"] ?? undefined;
  const id = call["id"] ?? undefined;
  if (name !== undefined && typeof name !== "string") throw malformed();
  const state = call["extra_content"];
  const delta: ToolCallDelta = {
    index: toIndex(call["index"]),
    id: typeof id === "string" || typeof id === "number" ? `${id}` || undefined : undefined,
    name: name || undefined,
    arguments: toArguments(called["arguments"]),
    providerState: isFields(state) ? state : undefined,
  };
  const { id: named, arguments: args, providerState } = delta;
  return (named ?? delta.name ?? providerState ?? (args || undefined)) ? [delta] : [];
}

/** Undefined for what tells no calls apart, such as -1. */
function toIndex(value: unknown): number | undefined {
  const index = typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(index) && (index as number) >= 0 ? (index as number) : undefined;
}

/** The API has a text; some hand on what their own API has. An empty list stands for no arguments. */
function toArguments(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return "";
  return JSON.stringify(value);
}

export function isTooLarge(state: Fields): boolean {
  return JSON.stringify(state).length > LONGEST_STATE;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function malformed(): EngineError {
  return new EngineError("engine_failed", "The engine sent a piece of a tool call that is none.", {
    retry: "broken",
  });
}
