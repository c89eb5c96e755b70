import type { conversations } from "@reprise/log";
import {
  type ConversationRecord,
  conversationSubject,
  RepriseError,
  type TenantId,
  type TurnContext,
} from "@reprise/protocol";
import type { Logger } from "@reprise/service";
import type { Principal } from "@reprise/tenancy";
import type { CreateGeneration } from "../create/create-generation.ts";
import type { PlannedSummary } from "./summarize.ts";
import type { TurnSteps } from "./turn-steps.ts";

/** Times that a row may change while a summary is written to it. */
const MOST_WRITES = 8;

interface SummaryPorts {
  readonly turns: Pick<TurnSteps, "plannedBy">;
  readonly rows: conversations.ConversationRows;
  readonly logger: Pick<Logger, "info" | "error">;
}

/** Makes the summary that a turn has planned, each time one has begun. The answer to the turn does not wait for it. */
export function withSummaries(create: CreateGeneration, ports: SummaryPorts): CreateGeneration {
  return async (asked) => {
    const started = await create(asked);
    const { ref, joined } = started;
    const planned = ports.turns.plannedBy(asked);
    if (planned && !joined)
      void makeSummary({ ...ports, create }, [asked.principal, ref.tenant], planned).catch((err: unknown) =>
        ports.logger.error({ err, tenant: ref.tenant }, "a conversation's summary could not be made"),
      );
    return started;
  };
}

async function makeSummary(
  { create, rows, logger }: Omit<SummaryPorts, "turns"> & { readonly create: CreateGeneration },
  [principal, tenant]: readonly [Principal, TenantId],
  { key, request, prompt, context, named }: PlannedSummary,
): Promise<void> {
  const { conversation } = context;
  const name = (summary: ConversationRecord["summary"], instead: string | undefined) =>
    nameSummary(rows, [tenant, conversation], summary, instead);
  if (!(await name(named, undefined))) return;
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
    await name(undefined, named.generation);
    if (!(error instanceof RepriseError) || error.code === "broker_unavailable") throw error;
    const { code } = error;
    logger.info({ tenant, code }, "a conversation has no summary; its oldest turns are left out");
  }
}

/**
 * Writes a conversation's summary into its row.
 * @param instead the summary that it replaces, and no other; undefined: any
 * @returns false if the conversation is deleted or over, or has another summary
 */
async function nameSummary(
  rows: conversations.ConversationRows,
  [tenant, id]: readonly [TenantId, TurnContext["conversation"]],
  summary: ConversationRecord["summary"],
  instead: string | undefined,
): Promise<boolean> {
  for (let writes = 0; writes < MOST_WRITES; writes++) {
    const { row, at } = await rows.read(tenant, id);
    if (row?.kind !== "conversation") return false;
    if (instead !== undefined && row.summary?.generation !== instead) return false;
    const { summary: _, ...rest } = row;
    const next = { ...rest, ...(summary && { summary }) };
    if ((await rows.write(conversationSubject(tenant, id), next, at)) !== undefined) return true;
  }
  return false;
}
