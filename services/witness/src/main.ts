import { join } from "node:path";
import { createFileStore, SEEN_DIR } from "@reprise/archive";
import { createLogger, runService } from "@reprise/service";
import { openWitnessIdentity, parseWitnessEnvironment } from "./config.ts";
import { createWitness } from "./witness.ts";
import { startWitnessServer } from "./witness-server.ts";

await runService(
  "witness",
  async () => {
    const env = parseWitnessEnvironment(process.env);
    const { dir, key, logs } = await openWitnessIdentity(env);
    const logger = createLogger({ service: "witness", level: env.REPRISE_LOG_LEVEL });
    const server = await startWitnessServer({
      witness: createWitness({ store: createFileStore(join(dir, SEEN_DIR)), key, logs }),
      host: env.REPRISE_HOST,
      port: env.REPRISE_PORT,
      onError: (error) => logger.error({ err: error }, "a checkpoint could not be processed"),
    });
    logger.info({ url: server.url, vkey: key.vkey, logs: logs.map(({ vkey }) => vkey) }, "witnessing");
    return { logger, drainMs: env.REPRISE_DRAIN_MS, stop: () => server.close() };
  },
  process.env,
);
