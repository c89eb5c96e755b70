import {
  CHECKPOINTS_STREAM,
  CHECKPOINTS_SUBJECTS,
  fillerSubject,
  type GenerationId,
  generationsStream,
  JOBS_STREAM,
  JOBS_SUBJECTS,
  RepriseError,
  shardOf,
  shardSubjects,
} from "@reprise/protocol";
import type { Broker } from "./connection.ts";
import type { GenerationLog } from "./generation-log.ts";
import { readRanges, type StreamPlaces } from "./purge-generation.ts";
import { askStream } from "./stream-api.ts";

/*
 * nats-server keeps what it has purged in the file that it lies in, 8 MiB of a stream, until nothing in that file is kept any more, or until
 * more than half of it is gone and the server syncs. But the file that is written to is never looked at, however old what was purged: in a
 * stream that is slow and never idle it stays for ever. So that file is made full, with zeros that are purged as well: then more than half of
 * it is gone where little is going on, and where much is, all of it is once the retention time is over.
 */

/** Together more than a file takes; each so small that little of a file's end is left. */
const PIECES = 33;
const PIECE = new Uint8Array(256 * 1_024);

/** A stream that holds what was said, and what it stores. */
export interface FilledStream {
  readonly stream: string;
  readonly subjects: string;
}

/** The streams in whose files the text of these generations may lie. */
export function streamsWithTextOf(generations: readonly GenerationId[]): FilledStream[] {
  const shards = new Set(generations.map(shardOf));
  return [
    ...[...shards].map((shard) => ({
      stream: generationsStream(shard),
      subjects: shardSubjects(shard).stored,
    })),
    { stream: CHECKPOINTS_STREAM, subjects: CHECKPOINTS_SUBJECTS },
    { stream: JOBS_STREAM, subjects: JOBS_SUBJECTS },
  ];
}

/**
 * Makes the newest file of a stream full. Costs the broker 8 MiB, until `purgeFiller`.
 * @returns where in the stream the zeros lie, those too that somebody who was interrupted has left
 * @throws RepriseError `broker_unavailable`
 */
export async function fillStream(
  { broker, log }: { broker: Broker; log: GenerationLog },
  { stream, subjects }: FilledStream,
): Promise<StreamPlaces> {
  const subject = fillerSubject(subjects);
  const places = await readRanges(broker, stream, subject);
  for (let i = 0; i < PIECES; i++) {
    const outcome = await log.publishCheckpoint(subject, PIECE, {});
    if (outcome.kind !== "stored") {
      throw new RepriseError("broker_unavailable", `The stream ${stream} does not take filler.`, {
        retryAfterMs: 1_000,
      });
    }
    places.push([outcome.streamSeq, outcome.streamSeq]);
  }
  return { [stream]: places };
}

/** @throws RepriseError `broker_unavailable` */
export async function purgeFiller({ main }: Broker, { stream, subjects }: FilledStream): Promise<void> {
  await askStream(main, stream, "PURGE", { filter: fillerSubject(subjects) });
}
