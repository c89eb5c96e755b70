import type { FinishReason, GenerationRequest } from "@reprise/protocol";
import { simulatorHere } from "../world/upstream.ts";

/** All that the simulator says to a request when nothing disturbs it. */
export interface Undisturbed {
  /** The text of each token. */
  readonly tokens: readonly string[];
  readonly finishReason: FinishReason;
}

const NOTHING_BEFORE = { turns: [], prefix: { text: "", tokens: 0 } };
/** The faults that the simulator is asked for, and when. */
const DISTURBANCES = [
  "fail_after_tokens",
  "stall_after_tokens",
  "tool_call_after_tokens",
  "tool_calls",
] as const;

/**
 * Asks the simulator in this process, past the platform, without its pauses. Tools leave the text as it is. `repeats` is an option of
 * the upstream's own.
 */
export async function runUndisturbed(request: GenerationRequest): Promise<Undisturbed> {
  const options: GenerationRequest["options"] & object = {
    ...request.options,
    tokens_per_second: 0,
    first_token_ms: 0,
  };
  for (const name of DISTURBANCES) delete options[name];
  const repeats = Number(options["repeats"] ?? 1);
  delete options["repeats"];
  const settings = { ...NOTHING_BEFORE, signal: new AbortController().signal };
  const tokens: string[] = [];
  let finishReason: FinishReason | undefined;
  for await (const event of simulatorHere().generate({ ...request, options }, settings)) {
    if (event.type === "text") tokens.push(event.text.repeat(repeats));
    else if (event.type === "finish") finishReason = event.reason;
  }
  if (finishReason === undefined) throw new Error("The simulator has not finished.");
  return { tokens, finishReason };
}
