import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngines, parseModelsFile } from "@reprise/inference-worker-service";
import { createLogger } from "@reprise/runtime";
import { parsePlatformEnvironment } from "../config.ts";
import { startPlatform } from "../service.ts";
import { type EngineWatch, watchEngine } from "./watched-engine.ts";

export interface DemoPlatform extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  readonly dataDir: string;
  /** The public name of the model that the demo asks for. */
  readonly model: string;
  /** True if tokens come from the built-in simulator. */
  readonly simulated: boolean;
  /** Where the model server is; undefined for the simulator. */
  readonly server: string | undefined;
  readonly watch: EngineWatch;
}

type Env = Readonly<Record<string, string | undefined>>;

/** A platform of its own for the demo, in a temporary folder: it meets no other that may be running. */
export async function startDemoPlatform(env: Env): Promise<DemoPlatform> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "reprise-demo-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const { model, file } = chooseModel(env);
  const engines = createEngines(parseModelsFile(JSON.stringify(file), { source: "the demo", env }), 16);
  // `chooseModel` has named a model of its file.
  const { engine, slots } = engines.get(model)!;
  const { engine: watched, watch } = watchEngine(engine);

  const platform = stack.use(
    await startPlatform(
      parsePlatformEnvironment({
        REPRISE_PORT: "0",
        REPRISE_DATA_DIR: dataDir,
        REPRISE_WITNESS: "off",
        REPRISE_LOG_LEVEL: "error",
      }),
      {
        models: new Map([...engines, [model, { engine: watched, slots }]]),
        processEnv: env,
        logger: createLogger({ service: "demo", level: "error" }),
      },
    ),
  );
  const owned = stack.move();
  return {
    url: platform.url,
    // A platform without a tenants file has a key of its own.
    apiKey: platform.apiKey!,
    dataDir,
    model,
    simulated: model === "sim",
    server: env["OPENAI_BASE_URL"] || undefined,
    watch,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Returns the model at `OPENAI_BASE_URL`, beside the simulator. */
function chooseModel(env: Env): { model: string; file: unknown } {
  const { OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: upstream = "gpt-4o-mini", OPENAI_API_KEY: key } = env;
  const sim = { engine: "sim" };
  if (!baseUrl) return { model: "sim", file: { models: { sim } } };
  const entry = {
    engine: "openai",
    base_url: baseUrl,
    upstream_model: upstream,
    ...(key && { api_key_env: "OPENAI_API_KEY" }),
  };
  return { model: "openai", file: { models: { openai: entry, sim } } };
}
