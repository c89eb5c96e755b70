import { join } from "node:path";
import { createFileStore, SEEN_DIR } from "@reprise/archive";
import {
  createLogger,
  createMetrics,
  createOpsHandler,
  HttpMetrics,
  opsAddressOf,
  runService,
  startOpsServer,
} from "@reprise/runtime";
import { openWitnessIdentity, parseWitnessEnvironment } from "./config.ts";
import { createWitness } from "./witness.ts";
import { COSIGN_RESULTS, startWitnessServer } from "./witness-server.ts";

await runService(
  "witness",
  async () => {
    const env = parseWitnessEnvironment(process.env);
    const { dir, key, logs } = await openWitnessIdentity(env);
    const logger = createLogger({ service: "witness", level: env.REPRISE_LOG_LEVEL });
    const metrics = createMetrics();
    const requests = metrics.counter("reprise_witness_requests_total");
    for (const result of COSIGN_RESULTS) requests.inc({ result }, 0);
    await using stack = new AsyncDisposableStack();
    const ops = opsAddressOf(env);
    const opsHandler = createOpsHandler({ metrics, notReadyBecause: () => [] });
    const opsServer = ops && stack.use(await startOpsServer(opsHandler, ops));
    const server = stack.use(
      await startWitnessServer({
        witness: createWitness({
          store: createFileStore(join(dir, SEEN_DIR), "The folder of the witness"),
          key,
          logs,
        }),
        host: env.REPRISE_HOST,
        port: env.REPRISE_PORT,
        http: new HttpMetrics(metrics, "witness"),
        onAnswered(request) {
          if (request.result) requests.inc({ result: request.result });
          if (request.result === "inconsistent")
            logger.error(
              request,
              "a log does not continue what was cosigned: it was rolled back, or shows two histories",
            );
          if (env.REPRISE_ACCESS_LOG !== "off" && request.route !== "/healthz")
            logger.info(request, "request");
        },
        onError: (error) => logger.error({ err: error }, "a checkpoint could not be processed"),
      }),
    );
    const running = stack.move();
    const vkeys = logs.map(({ vkey }) => vkey);
    logger.info({ url: server.url, vkey: key.vkey, logs: vkeys, ops: opsServer?.url }, "witnessing");
    return { logger, drainMs: env.REPRISE_DRAIN_MS, stop: () => running.disposeAsync() };
  },
  process.env,
);
