import * as conversations from "@reprise/conversations";
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
import { type HeadState, readHeadTurn, readTurn, type TurnSources } from "./read-turn.ts";
import { promptOfQueue, readTurnQueue } from "./turn-queue.ts";

/** One message of a conversation. */
export type ConversationItem = Prompt[number]["items"][number] & {
  readonly id: string;
  /** The turn that it is of; null for instructions from the beginning, and for what the conversation was created with. */
  readonly generation: string | null;
};

/** Record of one turn among the items returned: audit records what readers received. */
export interface ShownTurn {
  readonly generation: GenerationId;
  readonly seq: Seq;
}

export interface ItemPage {
  readonly data: readonly ConversationItem[];
  readonly isLast: boolean;
  readonly shown: readonly ShownTurn[];
  /** Bytes that were read for it. */
  readonly bytes: number;
}

const INSTRUCTIONS = "instructions";
const IMPORTED = "imported";

/**
 * Lists what was asked and said in a conversation, as it may be shown now; of a turn that runs only what it was asked. Turns that a model is no longer
 * given, because they do not fit or were summed up, are among it. Only turns of the page are looked at for what was withdrawn. A descending page reads no turn that is older than it needs.
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
    /** True if messages of the roles `system` and `developer` are among them. */
    readonly withInstructions: boolean;
    /** Called before something is shown that only the archive has. */
    readonly onArchived: (ref: GenerationRef) => Promise<void>;
  },
): Promise<ItemPage> {
  const place = after === undefined ? undefined : parseItemId(after);
  if (after !== undefined && !place) throw noSuchItem();
  let bytes = 0;
  async function* walk(): AsyncGenerator<PromptSegment> {
    for await (const segment of walkHistory(sources, row, { tenant, onArchived })) {
      bytes += Buffer.byteLength(JSON.stringify(segment));
      yield segment;
    }
  }
  const isBehind = (i: number) => !place || (isDescending ? i < place.index : i > place.index);
  const found: ConversationItem[] = [];
  const shown: ShownTurn[] = [];
  const add = async (segments: Prompt) => {
    for (const segment of await conversations.verifyPrompt(sources.log, tenant, segments)) {
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
  };
  let isReached = !place;
  let some: PromptSegment[] = [];
  for await (const segment of isDescending ? walk() : await collect(walk(), place?.of)) {
    isReached ||= nameOf(segment) === place?.of;
    if (!isReached) continue;
    some.push(segment);
    // One more than asked for tells whether it is the last page.
    if (found.length + some.length <= limit) continue;
    await add(some);
    if (found.length > limit) break;
    some = [];
  }
  if (!isReached) throw noSuchItem();
  if (found.length <= limit) await add(some);
  return { data: found.slice(0, limit), isLast: found.length <= limit, shown, bytes };
}

function noSuchItem(): RepriseError {
  return new RepriseError("cursor_invalid", "after: names no item of this conversation.", { param: "after" });
}

/**
 * Reads a history that comes newest first, and returns it oldest first.
 * @param until the turn before which it need not be read; undefined: all is read
 */
async function collect(history: AsyncIterable<PromptSegment>, until: string | undefined): Promise<Prompt> {
  const segments: PromptSegment[] = [];
  for await (const segment of history) {
    const last = segments.at(-1);
    if (last && nameOf(last) === until && nameOf(segment) !== until) break;
    segments.push(segment);
  }
  return segments.toReversed();
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

/** The parts of a conversation without its summaries, newest first. An earlier log is read when the later ones have no further part. */
async function* walkHistory(
  sources: TurnSources,
  { id, head, items, behind }: ConversationRecord,
  {
    tenant,
    onArchived,
  }: { readonly tenant: TenantId; readonly onArchived: (ref: GenerationRef) => Promise<void> },
): AsyncGenerator<PromptSegment> {
  const read = async (ref: GenerationRef, reading: Promise<HeadState>) => {
    const state = await reading;
    if (state.kind === "ended" && state.isArchived) await onArchived(ref);
    return state;
  };
  const readEarlier = (generation: GenerationId) => {
    const ref = { tenant, generation };
    return read(ref, readTurn(sources, ref, true));
  };
  const readLast = (generation: GenerationId) => {
    const ref = { tenant, generation };
    return read(ref, readHeadTurn(sources, ref, { conversation: id, mayBeOld: true }));
  };
  const readBeginning = async (): Promise<Prompt> => {
    if (behind === undefined) return toImportedPrompt(items);
    const state = await readEarlier(behind);
    return state.kind === "ended" ? promptBehind(state.turn) : [];
  };
  const readNewest = async (): Promise<{ prompt: Prompt; turn?: conversations.LoggedTurn }> => {
    if (!head) return { prompt: await readBeginning() };
    const last = await readLast(head.generation);
    if (last.kind === "ended") return { prompt: promptBehind(last.turn), turn: last.turn };
    if (last.kind === "running" && last.turn) {
      const prompt = promptOfQueue(await readTurnQueue(sources, tenant, last.turn));
      return { prompt, turn: last.turn };
    }
    if (!head.parent) return { prompt: await readBeginning() };
    const before = await readLast(head.parent);
    return before.kind === "ended"
      ? { prompt: promptBehind(before.turn), turn: before.turn }
      : { prompt: [] };
  };
  const newest = await readNewest();
  const known = new Set<string>();
  const isFurther = (segment: PromptSegment) =>
    !segment.summary && !isInstructions(segment) && !known.has(keyOf(segment));
  let oldest: GenerationId | undefined;
  for (let { prompt, turn } = newest; ;) {
    for (const segment of prompt.filter(isFurther).toReversed()) {
      known.add(keyOf(segment));
      oldest = segment.generation ?? oldest;
      yield segment;
    }
    if (!turn || !isShortened(turn) || oldest === undefined) break;
    const state = await readEarlier(oldest);
    if (state.kind !== "ended") break;
    ({ turn } = state);
    prompt = turn.requested.prompt ?? [];
    if (prompt.some(isFurther)) continue;
    turn = undefined;
    prompt = await readBeginning();
  }
  yield* newest.prompt.filter(isInstructions).toReversed();
}

const isInstructions = (segment: PromptSegment) => nameOf(segment) === INSTRUCTIONS;
const keyOf = (segment: PromptSegment) => `${nameOf(segment)}.${segment.imported ?? ""}`;

/** Tells whether a turn's model was not given all that came before it. */
function isShortened({ requested: { context, prompt = [] } }: conversations.LoggedTurn): boolean {
  const isDropped = context?.dropped_turns !== undefined || context?.summary !== undefined;
  return isDropped || prompt.some(({ summary }) => summary);
}
