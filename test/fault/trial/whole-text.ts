import { createEngines, type Engine, parseModelsFile } from "@reprise/inference-worker";
import type { GenerationRequest } from "@reprise/protocol";

const MODELS = JSON.stringify({ models: { sim: { engine: "sim" } } });
const NOTHING_BEFORE = { turns: [], prefix: { text: "", tokens: 0 } };

let simulator: Engine | undefined;

/** What the simulator says to a request when nothing disturbs it: asked in this process, past the platform, without its pauses. */
export async function wholeTextOf(request: GenerationRequest): Promise<string> {
  simulator ??= createEngines(parseModelsFile(MODELS, { source: "the fault suite", env: {} }), 1).get(
    "sim",
  )!.engine;
  const unhurried = { ...request, options: { ...request.options, tokens_per_second: 0, first_token_ms: 0 } };
  const settings = { ...NOTHING_BEFORE, signal: new AbortController().signal };
  let text = "";
  for await (const event of simulator.generate(unhurried, settings))
    if (event.type === "text") text += event.text;
  return text;
}
