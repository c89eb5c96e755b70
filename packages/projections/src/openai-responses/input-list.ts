import type { GenerationId, Message } from "@reprise/protocol";
import { toProtocolId } from "../protocol-id.ts";
import { toEncryptedContent } from "./sealed.ts";

type InputMessage = Exclude<Message, { role: "assistant" }>;
type Content = InputMessage["content"];
type Part = Exclude<Extract<Content, readonly unknown[]>, undefined>[number];

/** One item of what a response was asked, as OpenAI's API has it. */
export interface ListedItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * A response's input as items. The turns of an assistant are split again, so there are more items than messages. Each has an id of its own, different from
 * the ids of a response's output items.
 */
export function toInputItems(generation: GenerationId, input: string | readonly Message[]): ListedItem[] {
  const name = toProtocolId("resp_", generation).slice("resp_".length);
  const messages = typeof input === "string" ? [{ role: "user", content: input } as const] : input;
  return messages.flatMap(toItems).map((item, i) => ({ id: `in_${name}_${i}`, ...item }));
}

type Item = Omit<ListedItem, "id"> & { readonly type: string };

function toItems(message: Message): Item[] {
  if (message.role === "tool") {
    const { call_id, output, content } = message;
    const said = output === undefined ? toParts(content) : toText(output);
    return [{ type: "function_call_output", call_id, output: said, status: "completed" }];
  }
  if (message.role !== "assistant") {
    const content = toParts(message.content);
    return [{ type: "message", role: message.role, content, status: "completed" }];
  }
  const { content, reasoning = [], tool_calls: calls = [] } = message;
  const thoughts = typeof reasoning === "string" ? [{ text: reasoning }] : reasoning;
  return [
    ...thoughts.map(toThought),
    ...(content === undefined
      ? []
      : [{ type: "message", role: "assistant", content: toSaid(content), status: "completed" }]),
    ...calls.map((call) => ({ type: "function_call", ...call, status: "completed" })),
  ];
}

function toThought(
  thought: { text: string } | { encrypted: string; id?: string | undefined; summary?: string[] | undefined },
): Item {
  const texts = "text" in thought ? [thought.text] : (thought.summary ?? []);
  const summary = texts.map((text) => ({ type: "summary_text", text }));
  return {
    type: "reasoning",
    summary,
    ...("encrypted" in thought && { encrypted_content: toEncryptedContent(thought) }),
  };
}

function toSaid(content: NonNullable<Extract<Message, { role: "assistant" }>["content"]>): object[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.map((part) =>
    part.type === "refusal" ? part : { type: "output_text", text: part.text, annotations: [], logprobs: [] },
  );
}

function toParts(content: Content = []): object[] {
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  return content.map(toPart);
}

function toPart(part: Part): object {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image": {
      const { url: image_url = null, blob: file_id = null, detail = "auto" } = part;
      return { type: "input_image", image_url, file_id, detail };
    }
    case "file": {
      const { url, blob: file_id = null, name: filename } = part;
      const isData = url?.startsWith("data:") ?? false;
      return {
        type: "input_file",
        file_id,
        ...(url !== undefined && { [isData ? "file_data" : "file_url"]: url }),
        ...(filename !== undefined && { filename }),
      };
    }
    case "audio": {
      const { url = "" } = part;
      const format = url.startsWith("data:audio/wav") ? "wav" : "mp3";
      return { type: "input_audio", input_audio: { data: url.slice(url.indexOf(",") + 1), format } };
    }
  }
}

function toText(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
