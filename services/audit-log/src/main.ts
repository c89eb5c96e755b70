import { openBroker } from "@reprise/log";
import { RepriseError } from "@reprise/protocol";
import {
  createLogger,
  createMetrics,
  createOpsHandler,
  runService,
  startOpsServer,
  topologyOf,
} from "@reprise/service";
import { loadKeptTenants, parseAuditLogEnvironment } from "./config.ts";
import { startAuditLog } from "./service.ts";
import { openAuditStorage } from "./storage.ts";

await runService("audit-log", async () => {
  const env = parseAuditLogEnvironment(process.env);
  const { REPRISE_NATS_URL: natsUrls, REPRISE_OPS_PORT: port, REPRISE_HOST: host } = env;
  const { REPRISE_AUDIT_WITNESS_URLS: witnessUrls, REPRISE_SHARDS: shards } = env;
  if (!natsUrls) throw new RepriseError("config_invalid", "audit-log needs REPRISE_NATS_URL.");
  const logger = createLogger({ service: "audit-log", level: env.REPRISE_LOG_LEVEL });
  const metrics = createMetrics();
  const [storage, tenants] = await Promise.all([openAuditStorage(env), loadKeptTenants(env)]);

  await using stack = new AsyncDisposableStack();
  const url = natsUrls.join(",");
  const broker = stack.use(await openBroker({ url, name: "audit-log", ...topologyOf(env) }));
  const auditLog = stack.use(
    await startAuditLog({ broker, shards, storage, witnessUrls, tenants, logger, metrics }),
  );
  const ops = createOpsHandler({ metrics, notReadyBecause: () => auditLog.notReadyBecause() });
  const opsServer = port === undefined ? undefined : stack.use(await startOpsServer(ops, { host, port }));
  logger.info({ archive: storage.dir, vkey: storage.signer.vkey, ops: opsServer?.url }, "archiving");
  const running = stack.move();
  return {
    logger,
    drainMs: env.REPRISE_DRAIN_MS,
    reload: async () => auditLog.reload(await loadKeptTenants(env)),
    stop: () => running.disposeAsync(),
  };
});
