import type { NatsConnection } from "@nats-io/transport-node";
import { decodeVerdict, LIVE_VERDICTS_SUBJECTS } from "@reprise/protocol";

/** An event that a reader was shown though moderation had not cleared it. */
export interface EarlyEvent {
  readonly generation: string;
  readonly seq: number;
  /** Last event that was cleared then. */
  readonly cleared: number;
}

/** Holds what readers are shown against what moderation has cleared by then. */
export interface ClearedWatch extends AsyncDisposable {
  /** Called for each event in the moment in which a reader is shown it. */
  shown(generation: string, seq: number): void;
  /** Events shown too early, once every `shown` event is checked. */
  early(): Promise<readonly EarlyEvent[]>;
}

/**
 * Listens to all verdicts from now on: begin it before the generations are created. A verdict that let an event through was with the
 * broker before the event was with its reader; so it comes here before the broker's answer to a question that is asked now, and an event
 * that is still above what is cleared when the answer comes was shown too early. That allows no more than the time of one answer.
 */
export async function watchCleared(connection: NatsConnection): Promise<ClearedWatch> {
  const clearedBy = new Map<string, number>();
  const early: EarlyEvent[] = [];
  const looks = new Set<Promise<void>>();
  const verdicts = connection.subscribe(LIVE_VERDICTS_SUBJECTS, {
    callback: (_error, { data, subject }) => {
      const generation = subject.split(".").at(-1)!;
      const cleared = decodeVerdict(data)?.cleared ?? 0;
      clearedBy.set(generation, Math.max(cleared, clearedBy.get(generation) ?? 0));
    },
  });
  await connection.flush();

  async function look(generation: string, seq: number): Promise<void> {
    await connection.flush();
    const cleared = clearedBy.get(generation) ?? 0;
    if (seq > cleared) early.push({ generation, seq, cleared });
  }

  return {
    shown(generation, seq) {
      if (seq <= (clearedBy.get(generation) ?? 0)) return;
      const looking = look(generation, seq).finally(() => looks.delete(looking));
      looks.add(looking);
    },
    async early() {
      await Promise.all(looks);
      return early;
    },
    async [Symbol.asyncDispose]() {
      verdicts.unsubscribe();
      await Promise.allSettled(looks);
    },
  };
}
