import { randomUUID } from "node:crypto";
import { retry } from "@reprise/async";
import {
  encodeOpsRecord,
  type GenerationId,
  type OpsRecord,
  opsSubject,
  type TenantId,
} from "@reprise/protocol";
import type { Publish } from "../nats/publisher.ts";

/** Subject of a record: a generation, or a tenant alone. */
export interface OpsTopic {
  readonly tenant: TenantId;
  readonly generation?: GenerationId | undefined;
}

const BUDGET_MS = 10_000;
const PAUSE_MS = 200;

/**
 * Stores a record in `OPS`, once: one whose answer was lost is published again under the same message id. Retries through
 * broker failures until the time is up, so it does not belong into a call that a reader waits for.
 * @returns whether it is stored; without an answer it may be
 */
export async function recordOps(
  publish: Publish,
  { tenant, generation }: OpsTopic,
  record: OpsRecord,
  { budgetMs = BUDGET_MS }: { budgetMs?: number } = {},
): Promise<boolean> {
  const subject = opsSubject(record.kind, tenant, generation);
  const payload = encodeOpsRecord(record);
  const messageId = randomUUID();
  const tryOnce = async () => {
    const { kind } = await publish(subject, payload, { messageId });
    return kind === "stored" ? true : undefined;
  };
  return (await retry(tryOnce, { pauseMs: PAUSE_MS, budgetMs })) ?? false;
}
