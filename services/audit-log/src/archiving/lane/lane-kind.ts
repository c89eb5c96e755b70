import type { SegmentKind } from "@reprise/archive";
import {
  inputsStream,
  OPS_STREAM,
  parseInputSubject,
  parseLogSubject,
  parseOpsSubject,
  parseVerdictSubject,
  generationsStream,
  RepriseError,
  inputStreamOf,
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
  const inputs = Array.from({ length: shards }, (_, shard) => inputsStream(shard).name);
  return [...logs, ...inputs, VERDICTS_STREAM, OPS_STREAM];
}

export function laneKind(stream: string): SegmentKind {
  if (stream === VERDICTS_STREAM) return "verdict";
  if (stream === OPS_STREAM) return "ops";
  return stream.startsWith("INPUTS_") ? "input" : "log";
}

/**
 * A consumer's messages keep their subject where a process has them stored in another stream: a log of another shard is none of this one's.
 * @throws RepriseError `protocol_violation` for a subject that is none of the stream's
 */
export function parseOwner(stream: string, subject: string): OwnedKind {
  const lane = laneKind(stream);
  if (lane === "log" || lane === "input") {
    const ref = lane === "log" ? parseLogSubject(subject) : parseInputSubject(subject);
    const own = (lane === "log" ? streamOf : inputStreamOf)(ref.generation);
    if (own !== stream) throw new RepriseError("protocol_violation", `${stream} has a message of ${own}.`);
    return { kind: lane, ...ref };
  }
  if (lane === "verdict") return { kind: lane, ...parseVerdictSubject(subject) };
  const { tenant, kind, generation = "-" } = parseOpsSubject(subject);
  // Who had access, and who gave it, is kept when what it was to is erased.
  const isAccess = kind === "access" || kind === "administration";
  return { kind: isAccess ? "access" : "ops", tenant, generation };
}
