import type { JsonValue, OutputItem, Tool } from "@reprise/protocol";
import type { EngineRequest, Progress } from "../engine.ts";
import { toInput, toToolContent } from "./request-messages.ts";

/**
 * Every text of a request, and of what it has produced, that must not turn up in a message: what is said, not how it is to be run,
 * nor what functions are called.
 */
export function requestTexts(request: EngineRequest, { turns, prefix }: Progress): string[] {
  return [
    ...toInput(request).map(({ content }) => content ?? ""),
    prefix.text,
    ...turns.flatMap(textsOfItem),
    ...(request.tools ?? []).flatMap(textsOfTool),
    ...(request.stop ?? []),
    ...leavesOf(request.options, ["string"]),
    ...leavesOf(request.metadata, ["string"]),
  ];
}

/** A tool's data may be quoted as the JSON that it came in, or by what is in it. */
function textsOfItem(item: OutputItem): string[] {
  switch (item.type) {
    case "text":
      return [item.text];
    case "tool_call":
      return [item.arguments, ...leavesOf(tryJson(item.arguments), ["string", "number"])];
    case "tool_result":
      return [toToolContent(item.output), ...leavesOf(item.output, ["string", "number"])];
  }
}

/** Of the parameters' schema what its author has written; the words of JSON schema are in every validator's messages. */
function textsOfTool({ description = "", parameters }: Tool): string[] {
  return [description, ...schemaTexts(parameters)];
}

function schemaTexts(schema: JsonValue | undefined): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (["description", "title", "default", "const", "enum", "examples"].includes(keyword)) {
      return leavesOf(value, ["string", "number"]);
    }
    return schemaTexts(value);
  });
}

function leavesOf(value: unknown, types: readonly string[]): string[] {
  if (typeof value === "object" && value !== null) {
    return Object.values(value).flatMap((part) => leavesOf(part, types));
  }
  return types.includes(typeof value) ? [String(value)] : [];
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
