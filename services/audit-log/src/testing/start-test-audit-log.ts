import { createNoteKey, type Keyring } from "@reprise/archive";
import { createLogger, createMetrics } from "@reprise/runtime";
import { type AuditLog, type AuditLogOptions, startAuditLog } from "../service.ts";
import { SIGNING_SEED } from "./test-keys.ts";

type Overrides = Partial<Omit<AuditLogOptions, "storage">> &
  Partial<Pick<AuditLogOptions["storage"], "store">>;

interface Written extends Pick<AuditLogOptions, "broker">, Pick<AuditLogOptions["storage"], "store"> {
  readonly dir: string;
}

/** Starts the service on a world's archive. It commits soon, and logs nothing unless it is told to. */
export function startTestAuditLog(
  { broker, dir, store: usual }: Written,
  keyring: Keyring,
  { store = usual, ...options }: Overrides = {},
): Promise<AuditLog> {
  return startAuditLog({
    broker,
    shards: 1,
    storage: {
      name: "test",
      store,
      dir: `${dir}/archive`,
      cacheDir: `${dir}/cache`,
      keyring,
      signer: createNoteKey("test", SIGNING_SEED),
      earlier: [],
    },
    tenants: () => [],
    limits: { maxMessages: 100, maxAgeMs: 50, maxBytes: 1_000_000 },
    logger: createLogger({ service: "audit-log", level: "fatal" }),
    metrics: createMetrics({ processMetrics: false }),
    ...options,
  });
}

/** Returns a logger's destination, and the first line with this field. */
export function awaitLine(field: string) {
  const told = Promise.withResolvers<Record<string, unknown>>();
  const write = (line: string) => {
    const words = JSON.parse(line) as Record<string, unknown>;
    if (field in words) told.resolve(words);
  };
  return { logger: createLogger({ service: "audit-log", destination: { write } }), line: told.promise };
}
