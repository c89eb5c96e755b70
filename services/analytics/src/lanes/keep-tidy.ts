import { pause } from "@reprise/async";
import { type Broker, readStreamInfo } from "@reprise/broker";
import type { CommitTidier } from "../facts/merging/tidy-commits.ts";

export interface KeepTidyOptions {
  readonly tidier: Pick<CommitTidier<unknown>, "tidy">;
  readonly connection: Broker["reads"];
  readonly stream: string;
  readonly onError: (error: unknown) => void;
  /** Default 1 min. */
  readonly everyMs?: number;
}

const EVERY_MS = 60_000;
/** Clocks of the broker's servers differ, and what has expired is not gone at once. */
const MARGIN_US = 3_600_000_000;

/** Puts the facts of one stream in order, round after round, until `signal` aborts. A round that fails is made up for by the next one. */
export async function keepTidy(
  { tidier, connection, stream, onError, everyMs = EVERY_MS }: KeepTidyOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(everyMs, signal);
    if (signal.aborted) return;
    try {
      const { atUs, maxAgeUs } = await readStreamInfo(connection, stream);
      const expiredBeforeUs = maxAgeUs > 0 ? atUs - maxAgeUs - MARGIN_US : undefined;
      await tidier.tidy({ expiredBeforeUs, isOver: () => signal.aborted });
    } catch (error) {
      onError(error);
    }
  }
}
