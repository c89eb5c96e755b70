import { lowerPriority, runService, startBrokerService } from "@reprise/runtime";
import { followTenants, reportRefusedRecord } from "@reprise/tenancy";
import { parseAuditLogEnvironment } from "./config.ts";
import { keptTenants, loadKeptTenants } from "./kept-tenants.ts";
import { startAuditLog } from "./service.ts";
import { openAuditStorage } from "./storage.ts";

/** Readers wait for delivery, the workers and the broker, and for nothing that this process does. */
const NICE = 5;

await runService(
  "audit-log",
  async () => {
    const env = parseAuditLogEnvironment(process.env);
    await lowerPriority(env.REPRISE_NICE ?? NICE);
    const { REPRISE_SHARDS: shards, REPRISE_AUDIT_WITNESS_URLS: witnessUrls } = env;
    const [storage, read] = await Promise.all([openAuditStorage(env), loadKeptTenants(env)]);
    let file = read;
    return startBrokerService("audit-log", env, async (context) => {
      await using stack = new AsyncDisposableStack();
      const onRefused = reportRefusedRecord(context.logger);
      const { broker, brokerWatch } = context;
      const directory = stack.use(await followTenants({ broker, onRefused, onStale: brokerWatch.onStale }));
      const tenants = () => keptTenants(directory, file);
      const auditLog = stack.use(
        await startAuditLog({
          ...context,
          shards,
          storage,
          witnessUrls,
          tenants,
          accessLog: env.REPRISE_ACCESS_LOG !== "off",
        }),
      );
      const running = stack.move();
      return {
        service: {
          notReadyBecause: () => auditLog.notReadyBecause(),
          [Symbol.asyncDispose]: () => running.disposeAsync(),
        },
        does: "archiving",
        details: { archive: storage.dir, vkey: storage.signer.vkey },
        reload: async () => void (file = await loadKeptTenants(env)),
      };
    });
  },
  process.env,
);
