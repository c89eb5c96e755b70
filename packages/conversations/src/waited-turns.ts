import {
  decodeEvent,
  type GenerationId,
  type GenerationRef,
  peekSeq,
  peekType,
  RepriseError,
  type TenantId,
} from "@reprise/protocol";
import { holdingModeration, Visibility, type VerdictReader } from "@reprise/moderation";
import { readCurrentLog } from "@reprise/stream";
import { type CurrentLogs, foldTurn, type LoggedTurn } from "./verify-prompt.ts";

export interface WaitedLogs extends CurrentLogs {
  readonly verdicts: Pick<VerdictReader, "readVerdict">;
}

/** The turns that another turn waits for: all of them, or the last one that is still running. */
export type WaitedTurns =
  | { readonly kind: "ended"; readonly turns: readonly LoggedTurn[] }
  | { readonly kind: "running"; readonly generation: GenerationId }
  /** It has ended, and moderation has not let readers have all of it. */
  | { readonly kind: "held"; readonly generation: GenerationId };

/**
 * Reads the turns that another one waits for. One begins when those before it have ended, so the last one is looked at first; one that was
 * cancelled while it waited ends before them.
 * @throws RepriseError `generation_expired`, `generation_erased` of one of them, `broker_unavailable`
 */
export async function readWaitedTurns(
  log: WaitedLogs,
  tenant: TenantId,
  generations: readonly GenerationId[],
): Promise<WaitedTurns> {
  const turns: LoggedTurn[] = [];
  for (const generation of generations.toReversed()) {
    const ref = { tenant, generation };
    const { events } = await readCurrentLog(log, ref);
    const turn = foldTurn(events);
    if (!turn && events.length > 0) throw expired();
    if (!turn?.transcript.ended) return { kind: "running", generation };
    if (!(await isShown(log, ref, turn, events))) return { kind: "held", generation };
    turns.unshift(turn);
  }
  return { kind: "ended", turns };
}

/** True if readers may have all of a turn. */
async function isShown(
  { verdicts }: WaitedLogs,
  ref: GenerationRef,
  { requested, seq }: LoggedTurn,
  events: readonly Uint8Array[],
): Promise<boolean> {
  const holding = holdingModeration(requested.policy);
  if (!holding) return true;
  const visibility = new Visibility(holding);
  for (const payload of events) {
    const at = peekSeq(payload);
    const type = peekType(payload);
    visibility.took(at, type, () => decodeEvent(payload));
    visibility.reached(at, type, payload);
  }
  const stored = await verdicts.readVerdict(ref);
  if (stored) visibility.accept(stored.verdict, seq);
  return visibility.shownSeq(seq) >= seq;
}

function expired(): RepriseError {
  return new RepriseError("generation_expired", "A turn that this one has waited for is no longer kept.", {
    param: "conversation",
  });
}
