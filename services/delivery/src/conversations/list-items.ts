import { conversations } from "@reprise/log";
import {
  type ConversationRecord,
  type GenerationId,
  type GenerationRef,
  type Prompt,
  promptBehind,
  RepriseError,
  type Seq,
  type TenantId,
} from "@reprise/protocol";
import { readHeadTurn, type TurnSources } from "./read-turn.ts";
import { promptOfQueue, readTurnQueue } from "./turn-queue.ts";

/** One message of a conversation. */
export type ConversationItem = Prompt[number]["items"][number] & {
  readonly id: string;
  /** The turn that it is of; null for instructions from the beginning. */
  readonly generation: string | null;
};

/** What was said of a turn that is among the items: for the record of what readers were handed. */
export interface ShownTurn {
  readonly generation: GenerationId;
  readonly seq: Seq;
}

export interface ItemPage {
  readonly data: readonly ConversationItem[];
  readonly isLast: boolean;
  readonly shown: readonly ShownTurn[];
}

const INSTRUCTIONS = "instructions";

/**
 * What the next turn's model would be given before its input, as it may be shown now; of a turn that goes on only what it was asked.
 * @param after the id of the item before the page
 * @throws RepriseError `cursor_invalid`, `generation_erased`, `audit_unavailable`, `broker_unavailable`
 */
export async function listItems(
  sources: TurnSources,
  {
    tenant,
    row,
    after,
    limit,
    isDescending,
    onArchived,
  }: {
    readonly tenant: TenantId;
    readonly row: ConversationRecord;
    readonly after: string | undefined;
    readonly limit: number;
    readonly isDescending: boolean;
    /** Called before something is shown that only the archive has. */
    readonly onArchived: (ref: GenerationRef) => Promise<void>;
  },
): Promise<ItemPage> {
  const prompt = await conversations.verifyPrompt(
    sources.log,
    tenant,
    await readPrompt(sources, row, { tenant, onArchived }),
  );
  const all = prompt.flatMap(({ generation, items }) =>
    items.map((item, i) => ({
      id: `${generation ?? INSTRUCTIONS}.${i}`,
      generation: generation ?? null,
      ...item,
    })),
  );
  if (isDescending) all.reverse();
  const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0)
    throw new RepriseError("cursor_invalid", "after: names no item of this conversation.", {
      param: "after",
    });
  const data = all.slice(from, from + limit);
  const ids = new Set(data.map(({ generation }) => generation));
  const shown = prompt.flatMap(({ generation, seq }) =>
    generation !== undefined && seq !== undefined && ids.has(generation) ? [{ generation, seq }] : [],
  );
  return { data, isLast: from + limit >= all.length, shown };
}

async function readPrompt(
  sources: TurnSources,
  { id, head }: ConversationRecord,
  {
    tenant,
    onArchived,
  }: { readonly tenant: TenantId; readonly onArchived: (ref: GenerationRef) => Promise<void> },
): Promise<Prompt> {
  if (!head) return [];
  const read = async (generation: GenerationId) => {
    const ref = { tenant, generation };
    const state = await readHeadTurn(sources, ref, { conversation: id, mayBeOld: true });
    if (state.kind === "ended" && state.isArchived) await onArchived(ref);
    return state;
  };
  const last = await read(head.generation);
  if (last.kind === "ended") return promptBehind(last.turn);
  if (last.kind === "running" && last.turn) {
    return promptOfQueue(await readTurnQueue(sources, tenant, last.turn));
  }
  if (!head.parent) return [];
  const before = await read(head.parent);
  return before.kind === "ended" ? promptBehind(before.turn) : [];
}
