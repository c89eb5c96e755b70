import { createLogger, runService } from "@reprise/service";
import { parsePlatformEnvironment } from "./config.ts";
import { startPlatform } from "./service.ts";

await runService("reprise", async () => {
  const env = parsePlatformEnvironment(process.env);
  const logger = createLogger({ service: "reprise", level: env.REPRISE_LOG_LEVEL });
  const platform = await startPlatform(env, { processEnv: process.env, logger });
  logger.info({ url: platform.url, dataDir: env.REPRISE_DATA_DIR }, "listening");
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    failed: platform.failed,
    reload: platform.reload,
    stop: platform.close,
  };
});
