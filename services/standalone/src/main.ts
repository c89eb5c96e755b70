import { join } from "node:path";
import { loadEngines } from "@reprise/inference-worker-service";
import { createLogger, runService } from "@reprise/runtime";
import { parsePlatformEnvironment } from "./config.ts";
import { startPlatform } from "./service.ts";

await runService(
  "reprise",
  async () => {
    const env = parsePlatformEnvironment(process.env);
    const logger = createLogger({ service: "reprise", level: env.REPRISE_LOG_LEVEL });
    const models = await loadEngines(env, process.env);
    const platform = await startPlatform(env, { models, processEnv: process.env, logger });
    const { url, opsUrl: ops, nats, vkey } = platform;
    const keys = join(env.REPRISE_DATA_DIR, "dev.json");
    logger.info({ url, ops, nats, vkey, keys }, "listening");
    return {
      logger,
      drainMs: env.REPRISE_DRAIN_MS,
      noticeMs: env.REPRISE_DRAIN_NOTICE_MS ?? 0,
      announceStop: () => platform.announceStop(),
      failed: platform.failed,
      reload: async () => platform.reload(await loadEngines(env, process.env)),
      stop: () => platform.close(),
    };
  },
  process.env,
);
