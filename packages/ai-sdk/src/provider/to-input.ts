import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { type Message, RepriseError, type ToolContent } from "@reprise/client";
import { PROVIDER } from "./provider-name.ts";

type Turn = Extract<Message, { role: "assistant" }>;
type Answer = Extract<Message, { role: "tool" }>;

/** `type/subtype`: the AI SDK lets a caller say `image`, or `image/*`, and finds out the rest of what it knows. */
const FULL_MEDIA_TYPE = /^[^/*\s]+\/[^/*\s]+$/;

/**
 * A prompt of the AI SDK as the messages of a request.
 * @throws RepriseError `invalid_request` that names the message whose part no request can have
 */
export function toInput(prompt: LanguageModelV4Prompt): Message[] {
  return prompt.flatMap((message, i) => toMessages(message, `prompt.${i}`));
}

function toMessages(message: LanguageModelV4Message, path: string): Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user": {
      const content = message.content.map((part) =>
        part.type === "text" ? { type: "text" as const, text: part.text } : toMedia(part, path),
      );
      const [only] = content;
      return [{ role: "user", content: content.length === 1 && only?.type === "text" ? only.text : content }];
    }
    case "assistant":
      return toTurn(message.content, path);
    case "tool":
      return message.content.map((part) => {
        if (part.type === "tool-result") return toAnswer(part.toolCallId, part.output, path);
        throw refused(path, `a request has no part of the type ${part.type}`);
      });
  }
}

/** The provider's metadata of a part of reasoning: its sealed form, and a flag if its text is only a summary. */
interface Sealed {
  readonly encrypted?: string;
  readonly id?: string;
  readonly summary?: boolean;
}

/** Files that a model has made, and what other providers have added, are given back to no model. */
function toTurn(
  parts: Extract<LanguageModelV4Message, { role: "assistant" }>["content"],
  path: string,
): Message[] {
  const text: string[] = [];
  const reasoning: Exclude<NonNullable<Turn["reasoning"]>, string> = [];
  let summaries: string[] = [];
  const calls: NonNullable<Turn["tool_calls"]> = [];
  const answers: Answer[] = [];
  for (const part of parts)
    switch (part.type) {
      case "text":
        text.push(part.text);
        break;
      case "reasoning": {
        const { encrypted, id, summary = false } = (part.providerOptions?.[PROVIDER] ?? {}) as Sealed;
        if (summary && part.text !== "") summaries.push(part.text);
        if (encrypted !== undefined) {
          const told = summaries.length > 0 && { summary: summaries };
          reasoning.push({ encrypted, ...(id !== undefined && { id }), ...told });
          summaries = [];
        } else if (!summary && part.text !== "") reasoning.push({ text: part.text });
        break;
      }
      case "tool-call":
        calls.push({
          call_id: part.toolCallId,
          name: part.toolName,
          arguments: typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {}),
        });
        break;
      case "tool-result":
        answers.push(toAnswer(part.toolCallId, part.output, path));
        break;
      default:
        break;
    }
  const said = text.join("");
  if (said === "" && calls.length === 0) return [];
  const turn: Turn = {
    role: "assistant",
    ...(said !== "" && { content: said }),
    ...(reasoning.length > 0 && { reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return [turn, ...answers];
}

function toAnswer(callId: string, output: LanguageModelV4ToolResultOutput, path: string): Answer {
  const answer = { role: "tool" as const, call_id: callId };
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...answer, output: output.value };
    case "json":
    case "error-json":
      return { ...answer, output: output.value as NonNullable<Answer["output"]> };
    case "execution-denied":
      return { ...answer, output: output.reason ?? "The call was denied." };
    case "content": {
      const content: ToolContent = output.value.map((part) => {
        if (part.type === "text") return { type: "text", text: part.text };
        if (part.type === "file") return toMedia({ ...part, type: "file" }, path);
        throw refused(path, "a tool's answer has no part of the type custom");
      });
      return { ...answer, content };
    }
  }
}

/** An image, sound or file: its bytes, an https URL, or a blob of the platform's by `{ reprise: id }`. */
function toMedia({ data, mediaType, filename }: LanguageModelV4FilePart, path: string): ToolContent[number] {
  const [kind = ""] = mediaType.toLowerCase().split("/", 1);
  const place = toPlace(data, mediaType, path);
  if (kind === "image" || kind === "audio") return { type: kind, ...place };
  return { type: "file", ...place, ...(filename !== undefined && { name: filename }) };
}

function toPlace(
  data: LanguageModelV4FilePart["data"],
  mediaType: string,
  path: string,
): { url: string } | { blob: string } {
  const toDataUrl = (base64: string, type = mediaType.toLowerCase()) => {
    if (FULL_MEDIA_TYPE.test(type)) return { url: `data:${type};base64,${base64}` };
    throw refused(path, `bytes need a media type like image/png, got ${type}`);
  };
  switch (data.type) {
    case "url":
      return { url: String(data.url) };
    case "data":
      return toDataUrl(typeof data.data === "string" ? data.data : toBase64(data.data));
    case "text":
      return toDataUrl(
        toBase64(new TextEncoder().encode(data.text)),
        FULL_MEDIA_TYPE.test(mediaType) ? mediaType.toLowerCase() : "text/plain",
      );
    case "reference": {
      const blob = data.reference[PROVIDER];
      if (blob !== undefined) return { blob };
      throw refused(path, `a reference must have a blob's id as ${PROVIDER}`);
    }
  }
}

/** Converts in pieces: a call has a limited number of arguments. */
function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let from = 0; from < bytes.length; from += 8_192)
    binary += String.fromCharCode(...bytes.subarray(from, from + 8_192));
  return btoa(binary);
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}.`, { param });
}
