import type { SegmentKind } from "@reprise/archive";
import {
  OPS_STREAM,
  parseLogSubject,
  parseOpsSubject,
  parseVerdictSubject,
  generationsStream,
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

/** @throws RepriseError `protocol_violation` for a subject that is none of the lane's */
export function parseOwner(lane: SegmentKind, subject: string): OwnedKind {
  if (lane === "log") return { kind: lane, ...parseLogSubject(subject) };
  if (lane === "verdict") return { kind: lane, ...parseVerdictSubject(subject) };
  const { tenant, kind, generation = "-" } = parseOpsSubject(subject);
  // Who had access, and who gave it, is kept when what it was to is erased.
  const isAccess = kind === "access" || kind === "administration";
  return { kind: isAccess ? "access" : "ops", tenant, generation };
}
