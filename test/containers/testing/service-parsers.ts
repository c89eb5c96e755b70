import { parseAnalyticsEnvironment } from "../../../services/analytics/src/config.ts";
import { parseAuditLogEnvironment } from "../../../services/audit-log/src/config.ts";
import { parseDeliveryEnvironment, toDeliverySettings } from "../../../services/delivery/src/config.ts";
import { parseWorkerEnvironment } from "../../../services/inference-worker/src/config/config.ts";
import { parseModerationEnvironment } from "../../../services/moderation/src/config.ts";
import { parseWitnessEnvironment } from "../../../services/witness/src/config.ts";

export type ServiceParser = (env: Readonly<Record<string, string>>) => Readonly<Record<string, unknown>>;

/** Each service's own parser of its environment, by the name of the service. */
export const SERVICE_PARSERS: Readonly<Record<string, ServiceParser>> = {
  delivery(env) {
    const parsed = parseDeliveryEnvironment(env);
    toDeliverySettings(parsed);
    return parsed;
  },
  "inference-worker": parseWorkerEnvironment,
  moderation: parseModerationEnvironment,
  "audit-log": parseAuditLogEnvironment,
  analytics: parseAnalyticsEnvironment,
  witness: parseWitnessEnvironment,
};
