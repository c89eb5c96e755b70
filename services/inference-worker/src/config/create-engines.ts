import { RepriseError } from "@reprise/protocol";
import { createCommandEngine, findLimitProblem } from "../engines/command/command-engine.ts";
import type { Engine } from "../engines/engine.ts";
import { createOpenaiEngine } from "../engines/openai/openai-engine.ts";
import { createRealtimeEngine } from "../engines/realtime/realtime-engine.ts";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import type { ServedModel } from "../model-queues.ts";
import { loadModelsFile, type EngineConfig, type ModelsConfig } from "./models-file.ts";

interface ModelsEnvironment {
  readonly REPRISE_MODELS_FILE: string | undefined;
  readonly REPRISE_WORKER_SLOTS: number;
  readonly REPRISE_MEDIA_URL: string | undefined;
}

/**
 * Loads the engines that the models file describes, or the simulator if there is no models file.
 * @param processEnv holds the keys that `api_key_env` names
 * @throws RepriseError `config_invalid`
 */
export async function loadEngines(
  env: ModelsEnvironment,
  processEnv: Readonly<Record<string, string | undefined>>,
): Promise<Map<string, ServedModel>> {
  const models = await loadModelsFile(env.REPRISE_MODELS_FILE, processEnv);
  if (env.REPRISE_MEDIA_URL === undefined) assertNoLinks(models);
  await assertLimits(models);
  return createEngines(models, env.REPRISE_WORKER_SLOTS);
}

/** A model server can't fetch what has no address. */
function assertNoLinks(models: ModelsConfig): void {
  for (const [name, config] of models) {
    if (config.engine !== "openai" || config.openai.media !== "url") continue;
    const message = `models.${name}.media: "url" needs REPRISE_MEDIA_URL, by which the model server reaches delivery.`;
    throw new RepriseError("config_invalid", message);
  }
}

/** Not every system can limit a program's memory, and not to any size. */
async function assertLimits(models: ModelsConfig): Promise<void> {
  for (const [name, config] of models) {
    if (config.engine !== "command" || config.command.maxMemoryMb === undefined) continue;
    const problem = await findLimitProblem(config.command);
    if (problem !== undefined)
      throw new RepriseError("config_invalid", `models.${name}.max_memory_mb: ${problem}`);
  }
}

/**
 * One engine for each model, without I/O, and one more for its fallback: a model's engines live and end with the model. A fallback's
 * own fallback is not followed. A model that does not say how many slots it has gets `defaultSlots`.
 * @param models as `parseModelsFile` gives them: every fallback is among them
 */
export function createEngines(models: ModelsConfig, defaultSlots: number): Map<string, ServedModel> {
  return new Map(
    [...models].map(([name, config]) => {
      const { slots = defaultSlots, reserve, fallback } = config;
      return [
        name,
        {
          engine: createEngine(config),
          slots,
          ...(reserve !== undefined && { reserve }),
          ...(fallback !== undefined && {
            // Every fallback is among the models.
            fallback: { model: fallback, engine: createEngine(models.get(fallback)!) },
          }),
        },
      ];
    }),
  );
}

function createEngine(config: EngineConfig): Engine {
  if (config.engine === "openai") return createOpenaiEngine(config.openai);
  if (config.engine === "realtime") return createRealtimeEngine(config.realtime);
  if (config.engine === "command") return createCommandEngine(config.command);
  return createSimEngine(config.capabilities && { capabilities: config.capabilities });
}
