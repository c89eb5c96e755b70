import { jsonBytes, LIMITS } from "@reprise/protocol";
import { EngineError } from "../../engine-error.ts";

/** A chunk's piece of one tool call. */
export interface ToolCallDelta {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** A piece of the JSON. */
  readonly arguments: string;
  /** State that the provider wants back with the call. */
  readonly providerState: Readonly<Record<string, unknown>> | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a delta's `tool_calls`, and the older `function_call`. A piece that says nothing is left out.
 * @throws EngineError `engine_failed` for one whose form would lose a call
 */
export function readToolCalls(calls: unknown, older: unknown): readonly ToolCallDelta[] {
  const isMissing = calls === undefined || calls === null || (Array.isArray(calls) && calls.length === 0);
  if (isMissing) return isFields(older) ? toDelta({ function: older }) : NONE;
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
    // A template's own marks may follow it.
    name: name?.split("<|")[0] || undefined,
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

/** The API has a string; some servers pass their own API's object on. An empty list means no arguments. */
function toArguments(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return "";
  return JSON.stringify(value);
}

/** Tells whether a client could not hand a provider's state back. */
export function isTooLarge(state: Fields): boolean {
  return jsonBytes(state) > LIMITS.providerStateBytes || jsonDepth(state) > LIMITS.providerStateDepth;
}

function jsonDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(jsonDepth));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function malformed(): EngineError {
  return new EngineError("engine_failed", "The engine sent a malformed piece of a tool call.", {
    retry: "broken",
  });
}
