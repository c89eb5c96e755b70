import type { RequestedEvent } from "../event/event.ts";
import type { GenerationId } from "../id.ts";
import { bytesOf, fitPrompt, isInstructions, mediaRoomOf } from "./fit-prompt.ts";
import { type IsGone, withoutMedia } from "./lost-media.ts";
import type { Prompt, PromptSegment, TurnContext } from "../event/shapes/prompt.ts";
import { type EndedTurn, hasNeverBegun, promptBehind, toAskedMessages, toSummary } from "./prompt.ts";

/*
 * A turn that was created while others were running has in seq 0 the prompt of the first of them, and their names. Its model's prompt is made once they have
 * ended, from logs that then change only by withdrawals. So every process that makes the prompt, also after a takeover, makes the same.
 */

/** Prompt that a turn's model is given before its input. */
export interface SettledPrompt {
  readonly prompt: Prompt;
  /** Number of earlier turns that it leaves out. */
  readonly dropped: number;
  /** Tokens of the prompt, as an engine has counted them; undefined: unknown. */
  readonly counted: number | undefined;
}

type Waiting = Pick<RequestedEvent, "request" | "prompt" | "context" | "media">;

/** All that has to end before a turn can begin, in order: the summary first. */
export function waitsOf({ context }: Pick<Waiting, "context">): readonly GenerationId[] {
  const { summary, waits_for: turns = [] } = context ?? {};
  return summary ? [summary.generation, ...turns] : turns;
}

/**
 * Everything before a turn that has waited, whether or not it fits.
 * @param turns those of its `waits_for`, in order, as far as they have ended
 */
export function joinWaited(
  { prompt: known = [], context }: Waiting,
  turns: readonly EndedTurn[],
): SettledPrompt {
  let before: SettledPrompt = {
    prompt: known,
    dropped: context?.dropped_turns ?? 0,
    counted: context?.room?.counted,
  };
  for (const turn of turns) {
    if (hasNeverBegun(turn)) continue;
    const { prompt, dropped } = fitWaited(turn.requested, before);
    before = {
      prompt: promptBehind({ ...turn, requested: { ...turn.requested, prompt } }),
      dropped,
      counted: countedOf(turn),
    };
  }
  return before;
}

/**
 * The prompt of a turn whose `waitsOf` have ended. What was gone when it was created is left out, and what is gone since then ends it.
 * @throws RepriseError `conversation_full`
 */
export function settlePrompt(stored: Waiting, waited: readonly EndedTurn[]): SettledPrompt {
  const { requested, turns } = withSummary(stored, waited);
  return settleBehind(requested, turns);
}

function settleBehind(requested: Waiting, turns: readonly EndedTurn[]): SettledPrompt {
  const { media = {} } = requested;
  // What tools have answered since then is in no seq 0.
  const isGone: IsGone = (blob, role) => role === "user" && !Object.hasOwn(media, blob);
  const joined = joinWaited(requested, turns);
  return fitWaited(requested, {
    ...joined,
    prompt: joined.prompt.map((segment) => withoutMedia(segment, isGone)),
  });
}

/** A turn that has waited and has ended, with the prompt that its model was given: as if it had been created without a wait. */
export function settleTurn<Turn extends EndedTurn>(turn: Turn, waited: readonly EndedTurn[]): Turn {
  const { requested, turns } = withSummary(turn.requested, waited);
  const { prompt, dropped } = (hasNeverBegun(turn) ? joinWaited : settleBehind)(requested, turns);
  const context = requested.context && withDropped(requested.context, dropped);
  return { ...turn, requested: { ...requested, prompt, context } };
}

/**
 * A request with its summary in the place of the turns that are left out and of the summary before, and the turns that it waits for. Without one that
 * is of use it stays as it was stored: these turns are left out.
 */
function withSummary<Requested extends Waiting>(
  requested: Requested,
  waited: readonly EndedTurn[],
): { readonly requested: Requested; readonly turns: readonly EndedTurn[] } {
  const { context, prompt = [] } = requested;
  if (!context?.summary) return { requested, turns: waited };
  const [ended, ...turns] = waited;
  const { turns: count, bytes } = context.summary;
  const summary = ended && toSummary(ended);
  if (!summary || bytesOf(summary) > bytes) return { requested, turns };
  const dropped = (context.dropped_turns ?? 0) - count;
  return {
    requested: {
      ...requested,
      prompt: [
        ...prompt.filter(isInstructions),
        summary,
        ...prompt.filter((segment) => !isInstructions(segment) && !segment.summary),
      ],
      context: withDropped(context, dropped),
    },
    turns,
  };
}

function withDropped(context: TurnContext, dropped: number): TurnContext {
  const { dropped_turns: _, ...rest } = context;
  return { ...rest, ...(dropped > 0 && { dropped_turns: dropped }) };
}

/** Returns the segment of a turn that has not ended: its input alone. */
export function toAskedSegment(turn: Pick<EndedTurn, "requested">): PromptSegment {
  return { generation: turn.requested.generation as GenerationId, items: toAskedMessages(turn) };
}

/**
 * Returns an engine's count of a turn's prompt and answer, as later turns have them: without reasoning, but for that before calls, which can't be told apart. Undefined where it has counted what they do
 * not have: the question of a turn that has failed, the words of an attempt that was taken over.
 */
export function countedOf({
  transcript: { usage, status, attempt, output: said },
}: EndedTurn): number | undefined {
  const { input_tokens: input, output_tokens: output, reasoning_tokens: reasoning = 0 } = usage;
  if (input === null || status === "failed" || attempt > 1) return undefined;
  return said.some(({ type }) => type === "tool_call") ? input + output : input + output - reasoning;
}

function fitWaited(
  { context, request, media }: Pick<Waiting, "request" | "context" | "media">,
  before: SettledPrompt,
): SettledPrompt {
  const { room } = context ?? {};
  if (!room) return before;
  const { bytes, tokens, when_full: policy } = room;
  const { counted } = before;
  const fitted = fitPrompt(
    before.prompt,
    { bytes, tokens, counted, media: mediaRoomOf({ request, media }) },
    policy,
  );
  const { prompt, dropped } = fitted;
  return { ...before, prompt, dropped: before.dropped + dropped };
}
