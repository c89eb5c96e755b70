import { runService, startBrokerService } from "@reprise/service";
import { loadKeptTenants, parseAuditLogEnvironment } from "./config.ts";
import { startAuditLog } from "./service.ts";
import { openAuditStorage } from "./storage.ts";

await runService(
  "audit-log",
  async () => {
    const env = parseAuditLogEnvironment(process.env);
    const { REPRISE_SHARDS: shards, REPRISE_AUDIT_WITNESS_URLS: witnessUrls } = env;
    const [storage, tenants] = await Promise.all([openAuditStorage(env), loadKeptTenants(env)]);
    return startBrokerService("audit-log", env, async (context) => {
      const auditLog = await startAuditLog({ ...context, shards, storage, witnessUrls, tenants });
      return {
        service: auditLog,
        does: "archiving",
        details: { archive: storage.dir, vkey: storage.signer.vkey },
        reload: async () => auditLog.reload(await loadKeptTenants(env)),
      };
    });
  },
  process.env,
);
