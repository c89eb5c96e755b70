import type { SegmentKind } from "@reprise/archive";
import {
  OPS_STREAM,
  parseLogSubject,
  parseOpsSubject,
  parseVerdictSubject,
  generationsStream,
  RepriseError,
  streamOf,
  VERDICTS_STREAM,
} from "@reprise/protocol";

/** Whose a message is: `generation` is `-` for what is of a tenant alone. */
export interface MessageOwner {
  readonly tenant: string;
  readonly generation: string;
}

/** The same, and what it is. */
export interface OwnedKind extends MessageOwner {
  readonly kind: SegmentKind;
}

/** The streams that are archived. */
export function laneStreams(shards: number): string[] {
  const logs = Array.from({ length: shards }, (_, shard) => generationsStream(shard));
  return [...logs, VERDICTS_STREAM, OPS_STREAM];
}

export function laneKind(stream: string): SegmentKind {
  if (stream === VERDICTS_STREAM) return "verdict";
  return stream === OPS_STREAM ? "ops" : "log";
}

/**
 * A consumer's messages keep their subject where a process has them stored in another stream: a log of another shard is none of this one's.
 * @throws RepriseError `protocol_violation` for a subject that is none of the stream's
 */
export function parseOwner(stream: string, subject: string): OwnedKind {
  const lane = laneKind(stream);
  if (lane === "log") {
    const ref = parseLogSubject(subject);
    if (streamOf(ref.generation) !== stream)
      throw new RepriseError("protocol_violation", `${stream} has a message of ${streamOf(ref.generation)}.`);
    return { kind: lane, ...ref };
  }
  if (lane === "verdict") return { kind: lane, ...parseVerdictSubject(subject) };
  const { tenant, kind, generation = "-" } = parseOpsSubject(subject);
  // Who had access, and who gave it, is kept when what it was to is erased.
  const isAccess = kind === "access" || kind === "administration";
  return { kind: isAccess ? "access" : "ops", tenant, generation };
}
