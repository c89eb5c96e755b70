import { conversations } from "@reprise/log";
import {
  type ConversationRecord,
  type GenerationId,
  type GenerationRef,
  type Prompt,
  type PromptSegment,
  promptBehind,
  RepriseError,
  type Seq,
  type TenantId,
  toImportedPrompt,
} from "@reprise/protocol";
import { PROMPT_ROLES } from "@reprise/tenancy";
import { readHeadTurn, readTurn, type TurnSources } from "./read-turn.ts";
import { promptOfQueue, readTurnQueue } from "./turn-queue.ts";

/** One message of a conversation. */
export type ConversationItem = Prompt[number]["items"][number] & {
  readonly id: string;
  /** The turn that it is of; null for instructions from the beginning, and for what the conversation was created with. */
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
const IMPORTED = "imported";

/**
 * Lists what was asked and said in a conversation, as it may be shown now; of a turn that runs only what it was asked. Turns that a model is no longer
 * given, because they do not fit or were summed up, are among it. Only turns of the page are looked at for what was withdrawn.
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
    withInstructions,
    onArchived,
  }: {
    readonly tenant: TenantId;
    readonly row: ConversationRecord;
    readonly after: string | undefined;
    readonly limit: number;
    readonly isDescending: boolean;
    /** Whether messages of the roles `system` and `developer` are among them. */
    readonly withInstructions: boolean;
    /** Called before something is shown that only the archive has. */
    readonly onArchived: (ref: GenerationRef) => Promise<void>;
  },
): Promise<ItemPage> {
  const read = await readHistory(sources, row, { tenant, onArchived });
  const prompt = read.filter(({ summary }) => !summary);
  if (isDescending) prompt.reverse();
  const place = after === undefined ? undefined : parseItemId(after);
  const first = place ? prompt.findIndex((segment) => nameOf(segment) === place.of) : 0;
  if (after !== undefined && (!place || first === -1))
    throw new RepriseError("cursor_invalid", "after: names no item of this conversation.", {
      param: "after",
    });
  const isBehind = (i: number) => !place || (isDescending ? i < place.index : i > place.index);
  const found: ConversationItem[] = [];
  const shown: ShownTurn[] = [];
  let next = first;
  // One more than asked for tells whether it is the last page.
  while (found.length <= limit && next < prompt.length) {
    const some = prompt.slice(next, next + limit + 1 - found.length);
    for (const segment of await conversations.verifyPrompt(sources.log, tenant, some)) {
      const { imported = 0 } = segment;
      const items = toItems(segment).filter(
        ({ role }, i) =>
          (withInstructions || !PROMPT_ROLES.has(role)) &&
          (nameOf(segment) !== place?.of || isBehind(imported + i)),
      );
      if (isDescending) items.reverse();
      if (items.length > 0 && found.length < limit) shown.push(...shownOf(segment));
      found.push(...items);
    }
    next += some.length;
  }
  return { data: found.slice(0, limit), isLast: found.length <= limit, shown };
}

const nameOf = ({ generation, imported }: PromptSegment) =>
  generation ?? (imported === undefined ? INSTRUCTIONS : IMPORTED);

function toItems(segment: PromptSegment): ConversationItem[] {
  const { generation, imported = 0, items } = segment;
  return items.map((item, i) => ({
    id: `${nameOf(segment)}.${imported + i}`,
    generation: generation ?? null,
    ...item,
  }));
}

/** The turn, the instructions, or what the conversation was created with, and which of its items. */
function parseItemId(id: string): { readonly of: string; readonly index: number } | undefined {
  const [, of, index] = /^(.+)\.([0-9]{1,6})$/.exec(id) ?? [];
  return of === undefined ? undefined : { of, index: Number(index) };
}

function shownOf({ generation, seq }: PromptSegment): ShownTurn[] {
  return generation !== undefined && seq !== undefined ? [{ generation, seq }] : [];
}

async function readHistory(
  sources: TurnSources,
  { id, head, items, behind }: ConversationRecord,
  {
    tenant,
    onArchived,
  }: { readonly tenant: TenantId; readonly onArchived: (ref: GenerationRef) => Promise<void> },
): Promise<Prompt> {
  const readBeginning = async (): Promise<Prompt> => {
    if (behind === undefined) return toImportedPrompt(items);
    const ref = { tenant, generation: behind };
    const state = await readTurn(sources, ref, true);
    if (state.kind === "ended" && state.isArchived) await onArchived(ref);
    return state.kind === "ended" ? promptBehind(state.turn) : [];
  };
  const withEarlier = async (last: conversations.LoggedTurn, prompt: Prompt): Promise<Prompt> => {
    let whole = prompt;
    for (let turn = last; isShortened(turn);) {
      const first = whole.find(({ generation, summary }) => generation !== undefined && !summary)?.generation;
      const state = first && (await readTurn(sources, { tenant, generation: first }, true));
      if (state?.kind !== "ended") return whole;
      if (state.isArchived) await onArchived({ tenant, generation: first! });
      const joined = joinEarlier(state.turn.requested.prompt ?? [], whole);
      if (joined.length === whole.length) return joinEarlier(await readBeginning(), whole);
      whole = joined;
      ({ turn } = state);
    }
    return whole;
  };
  if (!head) return readBeginning();
  const read = async (generation: GenerationId) => {
    const ref = { tenant, generation };
    const state = await readHeadTurn(sources, ref, { conversation: id, mayBeOld: true });
    if (state.kind === "ended" && state.isArchived) await onArchived(ref);
    return state;
  };
  const last = await read(head.generation);
  if (last.kind === "ended") return withEarlier(last.turn, promptBehind(last.turn));
  if (last.kind === "running" && last.turn) {
    return withEarlier(last.turn, promptOfQueue(await readTurnQueue(sources, tenant, last.turn)));
  }
  if (!head.parent) return readBeginning();
  const before = await read(head.parent);
  return before.kind === "ended" ? withEarlier(before.turn, promptBehind(before.turn)) : [];
}

/** Whether a turn's model was not given all that came before it. */
function isShortened({ requested: { context, prompt = [] } }: conversations.LoggedTurn): boolean {
  const isDropped = context?.dropped_turns !== undefined || context?.summary !== undefined;
  return isDropped || prompt.some(({ summary }) => summary);
}

/** Puts the parts of an earlier prompt that a later one lacks before it, after the instructions. */
function joinEarlier(earlier: Prompt, later: Prompt): Prompt {
  const keyOf = (segment: PromptSegment) => `${nameOf(segment)}.${segment.imported ?? ""}`;
  const known = new Set(later.map(keyOf));
  const first = later.findIndex((segment) => nameOf(segment) !== INSTRUCTIONS);
  const place = first === -1 ? later.length : first;
  const missing = earlier.filter(
    (segment) =>
      segment.summary === undefined && nameOf(segment) !== INSTRUCTIONS && !known.has(keyOf(segment)),
  );
  return [...later.slice(0, place), ...missing, ...later.slice(place)];
}
