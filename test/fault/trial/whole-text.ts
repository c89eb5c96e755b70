import type { GenerationRequest } from "@reprise/protocol";
import { simulatorHere } from "../world/simulator.ts";

const NOTHING_BEFORE = { turns: [], prefix: { text: "", tokens: 0 } };
/** What the simulator is asked to do wrong, and when. */
const DISTURBANCES = [
  "fail_after_tokens",
  "stall_after_tokens",
  "tool_call_after_tokens",
  "tool_calls",
] as const;

/**
 * What the simulator says to a request when nothing disturbs it: asked in this process, past the platform, without its pauses. Tools
 * leave the text as it is. `repeats` is an option of the upstream's own.
 */
export async function wholeTextOf(request: GenerationRequest): Promise<string> {
  const options: GenerationRequest["options"] & object = {
    ...request.options,
    tokens_per_second: 0,
    first_token_ms: 0,
  };
  for (const name of DISTURBANCES) delete options[name];
  const repeats = Number(options["repeats"] ?? 1);
  delete options["repeats"];
  const settings = { ...NOTHING_BEFORE, signal: new AbortController().signal };
  let text = "";
  for await (const event of simulatorHere().generate({ ...request, options }, settings))
    if (event.type === "text") text += event.text.repeat(repeats);
  return text;
}
