import { randomFillSync } from "node:crypto";
import {
  CHECKPOINTS_STREAM,
  CHECKPOINTS_SUBJECTS,
  fillerSubject,
  type GenerationId,
  generationsStream,
  inputsStream,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  RepriseError,
  shardOf,
  shardSubjects,
  plus,
} from "@reprise/protocol";
import { type Broker, purgeSubject } from "@reprise/broker";
import type { GenerationLog } from "../read/generation-log.ts";
import { readRanges, type StreamRanges } from "./purge-generation.ts";

/*
 * nats-server keeps purged messages in their file (8 MiB of a stream) until no message in that file is kept any more, or until more than half of it
 * is gone and the server syncs. But the file that is being written to is never compacted, however old its purged messages are: in a stream that is
 * slow but never idle, they stay for ever. So that file is filled up, with filler that is purged as well. Then in a slow stream more than half of the
 * file is gone, and in a busy one the whole file is gone once the retention time is over.
 *
 * In a cluster every replica also has the text in its stream's Raft log, which it truncates after a snapshot: every two to three minutes, and as
 * soon as the log exceeds 8 MiB. Large messages are compressed there, so the filler consists of random bytes: it makes the log that long.
 */

/** Tries for all pieces together: each waits 1.2 s for its answer, and a piece that is stored twice does no harm. */
const TRIES = 10;
/** Together more than a file takes, and than a Raft log has without a snapshot; each so small that little of a file's end is left. */
const PIECES = 33;
const PIECE = randomFillSync(new Uint8Array(256 * 1_024));

/** A stream with text of generations, and its subjects. */
export interface FilledStream {
  readonly stream: string;
  readonly subjects: string;
}

/** The streams in whose files the text of these generations may lie. */
export function streamsWithTextOf(generations: readonly GenerationId[]): FilledStream[] {
  const shards = new Set(generations.map(shardOf));
  return [
    ...[...shards].flatMap((shard) => {
      const { name, subjects } = inputsStream(shard);
      const stream = generationsStream(shard);
      return [
        { stream, subjects: shardSubjects(shard).stored },
        { stream: name, subjects },
      ];
    }),
    { stream: CHECKPOINTS_STREAM, subjects: CHECKPOINTS_SUBJECTS },
    { stream: JOBS_STREAM, subjects: JOBS_SUBJECTS },
  ];
}

/**
 * Makes the newest file of a stream full. Costs the broker 8 MiB, until `purgeFiller`, and as much is read again: others may do the same at once.
 * @returns where in the stream the filler lies, up to the last of them: those too that others have put there, or were interrupted and have left
 * @throws RepriseError `broker_unavailable`
 */
export async function fillStream(
  { broker, log }: { broker: Broker; log: GenerationLog },
  { stream, subjects }: FilledStream,
): Promise<StreamRanges> {
  const subject = fillerSubject(subjects);
  for (let pieces = 0, tries = 0; pieces < PIECES;) {
    const outcome = await log.publishCheckpoint(subject, PIECE, {});
    if (outcome.kind === "stored") pieces++;
    else if (++tries === TRIES)
      throw new RepriseError("broker_unavailable", `The stream ${stream} does not take filler.`, {
        retryAfterMs: 1_000,
      });
  }
  return { [stream]: await readRanges(broker, stream, subject) };
}

/**
 * Purges the filler whose ranges are known. Later filler belongs to another process, which may not have recorded its ranges yet.
 * @param places the ranges that `fillStream` returned; empty when other processes have purged them
 * @throws RepriseError `broker_unavailable`
 */
export async function purgeFiller(
  { main }: Broker,
  { stream, subjects }: FilledStream,
  places: StreamRanges,
): Promise<void> {
  const last = places[stream]?.at(-1)?.[1];
  if (last !== undefined) await purgeSubject(main, stream, fillerSubject(subjects), plus(last, 1));
}
