import type * as conversations from "@reprise/conversations";
import {
  type ConversationSummary,
  conversationSubject,
  RepriseError,
  type TenantId,
  type TurnContext,
} from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import type { Principal } from "@reprise/tenancy";
import type { CreateGeneration } from "../../create/create-generation.ts";
import type { Asked } from "../../create/creating.ts";
import type { Creates } from "../../create/turns.ts";
import type { PlannedSummary } from "./plan-summary.ts";

/** Times that a row may change while a summary is written to it. */
const MOST_WRITES = 8;
/** Summaries that a node creates at a time, each with the prompt of a turn in memory. Further ones are left to later turns. */
const MOST_AT_ONCE = 8;

interface SummaryPorts {
  /** Returns the summary that a create has planned for later turns. */
  plannedBy(asked: Asked): PlannedSummary | undefined;
  readonly rows: conversations.ConversationRows;
  readonly logger: Pick<Logger, "info" | "error">;
}

/**
 * Makes the summary that a turn has planned, each time one has begun. The answer to the turn does not wait for it. Disposal waits for summaries that are
 * being created.
 */
export function withSummaries(create: CreateGeneration, ports: SummaryPorts): Creates {
  const { logger } = ports;
  const pending = new Set<Promise<void>>();

  function begin(principal: Principal, tenant: TenantId, planned: PlannedSummary): void {
    if (pending.size >= MOST_AT_ONCE) return;
    const making = makeSummary({ ...ports, create }, [principal, tenant], planned)
      .catch((err: unknown) => logger.error({ err, tenant }, "a conversation's summary could not be made"))
      .finally(() => pending.delete(making));
    pending.add(making);
  }

  return {
    async create(asked) {
      const started = await create(asked);
      const planned = ports.plannedBy(asked);
      if (planned && !started.joined) begin(asked.principal, started.ref.tenant, planned);
      return started;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(pending);
    },
  };
}

async function makeSummary(
  { create, rows, logger }: Omit<SummaryPorts, "plannedBy"> & { readonly create: CreateGeneration },
  [principal, tenant]: readonly [Principal, TenantId],
  { key, request, prompt, context, named }: PlannedSummary,
): Promise<void> {
  if (!(await nameSummary(rows, [tenant, context.conversation], named))) return;
  // It has no readers.
  const { on_disconnect: _, pace: __, ...policy } = principal.policy;
  const own = { ...principal, policy };
  try {
    const started = await create({
      principal: own,
      request,
      given: { prompt, context },
      idempotencyKey: key,
    });
    started[Symbol.dispose]();
  } catch (error) {
    // The row keeps the name: the generation may exist after all, and one that does not is planned again.
    if (!(error instanceof RepriseError) || error.code === "broker_unavailable") throw error;
    const { code } = error;
    logger.info({ tenant, code }, "a conversation has no summary; its oldest turns are left out");
  }
}

/**
 * Names a summary in its conversation's row, unless the row names that of a later turn.
 * @returns false if the conversation is deleted, or has the summary of a later turn
 */
async function nameSummary(
  rows: conversations.ConversationRows,
  [tenant, id]: readonly [TenantId, TurnContext["conversation"]],
  summary: ConversationSummary,
): Promise<boolean> {
  for (let writes = 0; writes < MOST_WRITES; writes++) {
    const { row, at } = await rows.read(tenant, id);
    if (row?.kind !== "conversation" || (row.summary?.nth ?? 0) > summary.nth) return false;
    if (row.summary?.generation === summary.generation) return true;
    const next = { ...row, summary };
    if ((await rows.write(conversationSubject(tenant, id), next, at)) !== undefined) return true;
  }
  return false;
}
