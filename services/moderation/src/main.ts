import { runService, startBrokerService } from "@reprise/runtime";
import { parseModerationEnvironment } from "./config.ts";
import { loadClassifiers } from "./classifiers/classifiers-file.ts";
import { startModeration } from "./service.ts";

await runService(
  "moderation",
  async () => {
    const env = parseModerationEnvironment(process.env);
    const load = () => loadClassifiers(env, process.env);
    const classifiers = await load();
    return startBrokerService("moderation", env, async (context) => {
      const moderation = await startModeration({ ...context, classifiers, shards: env.REPRISE_SHARDS });
      return {
        service: moderation,
        does: "judging",
        details: { classifiers: [...classifiers.keys()] },
        reload: async () => moderation.reload(await load()),
      };
    });
  },
  process.env,
);
