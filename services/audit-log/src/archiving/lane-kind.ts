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

/** The streams that are archived. */
export function laneStreams(shards: number): string[] {
  const logs = Array.from({ length: shards }, (_, shard) => generationsStream(shard));
  return [...logs, VERDICTS_STREAM, OPS_STREAM];
}

export function laneKind(stream: string): SegmentKind {
  if (stream === VERDICTS_STREAM) return "verdict";
  return stream === OPS_STREAM ? "ops" : "log";
}

/** @throws RepriseError `protocol_violation` for a subject that is none of the kind's */
export function parseOwner(kind: SegmentKind, subject: string): MessageOwner {
  switch (kind) {
    case "log":
      return parseLogSubject(subject);
    case "verdict":
      return parseVerdictSubject(subject);
    case "ops": {
      const { tenant, generation } = parseOpsSubject(subject);
      return { tenant, generation: generation ?? "-" };
    }
  }
}
