import { createEngines, type Engine, parseModelsFile } from "@reprise/inference-worker-service";

const MODELS = JSON.stringify({ models: { sim: { engine: "sim" } } });

let simulator: Engine | undefined;

/** The simulator as workers have it, in this process: what it says follows from the request alone, wherever it runs. */
export function simulatorHere(): Engine {
  simulator ??= createEngines(parseModelsFile(MODELS, { source: "the fault suite", env: {} }), 1).get(
    "sim",
  )!.engine;
  return simulator;
}
