import type { GenerationRequest } from "../request/request.ts";
import { RepriseError } from "../errors/reprise-error.ts";
import * as z from "zod";
import type { Capability, Need } from "./capability.ts";
import { openaiOptionsOf } from "./openai-options.ts";
import { createOptionsParser } from "./parse-options.ts";
import { parseSimOptions } from "./sim-options.ts";

/** Engine and capabilities of a model. */
export interface ServedBy {
  readonly engine: "sim" | "openai" | "command" | "realtime";
  readonly capabilities: ReadonlySet<Capability>;
  /** Context size of the model in tokens, including its answer. Undefined: unknown. */
  readonly contextTokens?: number | undefined;
}

const REALTIME_FORMAT = "audio/pcm;rate=16000;channels=1";
/** A program's arguments are its operator's. */
const parseNoOptions = createOptionsParser(z.strictObject({}));

/**
 * Refuses what the model, or its engine, would refuse or ignore.
 * @param needs of the request
 * @throws RepriseError `capability_unsupported`, which names the first field that asks for too much; `invalid_request` for wrong options
 */
export function assertServable(
  request: GenerationRequest,
  needs: readonly Need[],
  { engine, capabilities }: ServedBy,
): void {
  for (const { capability, param } of needs) {
    if (!capabilities.has(capability)) throw unsupported(request.model, capability, param);
  }
  if (engine === "sim") parseSimOptions(request);
  else if (engine === "openai") openaiOptionsOf(request);
  else parseNoOptions(request.options);
  if (engine === "realtime" && request.input_stream?.format !== REALTIME_FORMAT)
    throw new RepriseError(
      "invalid_request",
      `input: the model "${request.model}" takes ${REALTIME_FORMAT}.`,
      {
        param: "input.stream.format",
      },
    );
}

function unsupported(model: string, capability: Capability, param: string): RepriseError {
  const message = `${param}: the model "${model}" does not have the capability ${capability}.`;
  return new RepriseError("capability_unsupported", message, { param });
}
