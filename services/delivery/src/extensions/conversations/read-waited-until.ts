import * as conversations from "@reprise/conversations";
import { type Broker } from "@reprise/broker";
import { type GenerationLog, readLastStored } from "@reprise/stream";
import {
  type GenerationRef,
  isTerminal,
  NEVER,
  peekType,
  RepriseError,
  type UnixMs,
} from "@reprise/protocol";

interface Sources {
  readonly log: GenerationLog;
  readonly broker: Pick<Broker, "reads">;
}

/**
 * Returns when the last of some turns has ended, by the broker's clock. A decision about a turn after its end counts, because the next turn may have waited
 * for it. Costs one direct get for each turn, and a read of each turn whose last event is such a decision. A turn that is no longer kept has ended long ago.
 * @returns `NEVER` while one is running
 * @throws RepriseError `broker_unavailable`
 */
export async function readWaitedUntil(
  sources: Sources,
  refs: readonly GenerationRef[],
): Promise<UnixMs | undefined> {
  const ends = await Promise.all(refs.map((ref) => readEnd(sources, ref)));
  const known = ends.filter((end) => end !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

async function readEnd({ log, broker }: Sources, ref: GenerationRef): Promise<UnixMs | undefined> {
  const last = await readLastStored(broker.reads, ref);
  if (!last) return undefined;
  if (isTerminal(peekType(last.payload)) || (await hasEnded(log, ref))) return last.storedAtMs;
  return NEVER;
}

async function hasEnded(log: GenerationLog, ref: GenerationRef): Promise<boolean> {
  try {
    const { events } = await log.reader.readLog(ref);
    return conversations.foldTurn(events)?.transcript.ended ?? true;
  } catch (error) {
    if (error instanceof RepriseError && !error.retryable) return true;
    throw error;
  }
}
