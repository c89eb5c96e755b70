import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { type Client, RepriseError } from "@reprise/client";
import { PROVIDER } from "./provider-name.ts";
import { type CallRun, runCall } from "./run-call.ts";
import { toCall } from "./to-request.ts";
import { StreamParts } from "./stream-parts.ts";

/** One model of the platform. */
export function createLanguageModel(modelId: string, client: Pick<Client, "generations">): LanguageModelV4 {
  function start(options: LanguageModelV4CallOptions) {
    const { request, idempotencyKey, warnings } = toCall(modelId, options);
    const { abortSignal: signal } = options;
    const run = runCall(client, request, {
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(signal && { signal }),
    });
    return { run, parts: new StreamParts(warnings, () => run.id) };
  }

  return {
    specificationVersion: "v4",
    provider: PROVIDER,
    modelId,
    // The platform fetches what an https URL names, so no bytes go through the caller.
    supportedUrls: { "*/*": [/^https:\/\//] },
    async doStream(options) {
      const { run, parts } = start(options);
      return { stream: toReadable(run, parts), request: { body: run.request } };
    },
    async doGenerate(options) {
      const { run, parts } = start(options);
      const told: LanguageModelV4StreamPart[] = [...parts.begin()];
      for (;;) {
        const { done, value: event } = await run.next();
        if (done) break;
        told.push(...parts.tell(event));
      }
      return { ...collect(told), request: { body: run.request } };
    },
  };
}

/** Reads when the reader does. A reader that leaves closes the connection, and cancels no generation. */
function toReadable(run: CallRun, parts: StreamParts): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of parts.begin()) controller.enqueue(part);
    },
    async pull(controller) {
      // A pull that enqueues nothing is not made again.
      for (;;) {
        const { done, value: event } = await run.next();
        if (done) return parts.hasEnded ? controller.close() : controller.error(endless());
        const told = parts.tell(event);
        for (const part of told) controller.enqueue(part);
        if (told.length > 0) return;
      }
    },
    async cancel() {
      await run.return();
    },
  });
}

/** The stream was left before the generation ended. */
function endless(): RepriseError {
  return new RepriseError("connection_lost", "The stream was left before the generation ended.");
}

/**
 * Adds up the parts of a stream.
 * @throws the error of an `error` part
 */
function collect(told: readonly LanguageModelV4StreamPart[]): LanguageModelV4GenerateResult {
  const content: LanguageModelV4Content[] = [];
  const open = new Map<string, { type: "text" | "reasoning"; text: string }>();
  let result: LanguageModelV4GenerateResult | undefined;
  let response: LanguageModelV4GenerateResult["response"] = {};
  let warnings: LanguageModelV4GenerateResult["warnings"] = [];
  for (const part of told)
    switch (part.type) {
      case "stream-start":
        warnings = part.warnings;
        break;
      case "response-metadata": {
        const { type: _type, ...metadata } = part;
        response = metadata;
        break;
      }
      case "text-start":
      case "reasoning-start": {
        const { providerMetadata } = part;
        const made = {
          type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const),
          text: "",
          ...(providerMetadata && { providerMetadata }),
        };
        content.push(made);
        open.set(part.id, made);
        break;
      }
      case "text-delta":
      case "reasoning-delta": {
        const made = open.get(part.id);
        if (made) made.text += part.delta;
        break;
      }
      case "reasoning-end": {
        const made = open.get(part.id);
        if (made && part.providerMetadata) Object.assign(made, { providerMetadata: part.providerMetadata });
        break;
      }
      case "source":
      case "tool-call":
        content.push(part);
        break;
      case "error":
        throw part.error;
      case "finish": {
        const { type: _type, ...finish } = part;
        result = { ...finish, content, warnings };
        break;
      }
      default:
        break;
    }
  if (!result) throw endless();
  return { ...result, warnings, response };
}
