import { runService, startBrokerService } from "@reprise/runtime";
import { parseWorkerEnvironment, toWorkerSettings } from "./config/config.ts";
import { loadEngines } from "./config/create-engines.ts";
import { startWorker } from "./service.ts";

await runService(
  "inference-worker",
  async () => {
    const env = parseWorkerEnvironment(process.env);
    const load = () => loadEngines(env, process.env);
    const models = await load();
    return startBrokerService("inference-worker", env, async (context) => {
      const worker = await startWorker({ ...context, models, ...toWorkerSettings(env) });
      return {
        service: worker,
        does: "taking jobs",
        details: { worker: worker.id, models: [...models.keys()] },
        reload: async () => worker.reload(await load()),
      };
    });
  },
  process.env,
);
