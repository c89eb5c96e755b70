import { peekSeq } from "@reprise/protocol";
import type { AckedMessage } from "@reprise/testkit";
import type { FinalLog } from "./judge-readers.ts";
import type { Violation } from "./violation.ts";

const MOST_NAMED = 8;

/**
 * Holds a log, as it is stored in the end, against what the broker had acknowledged as stored: the proxies between it and the services
 * have seen that, also where a process was killed before the answer arrived.
 */
export function judgeAcks({ generation, stored }: FinalLog, acked: readonly AckedMessage[]): Violation[] {
  const lost = acked
    .map(({ payload }) => ({ payload, seq: peekSeq(Buffer.from(payload)) }))
    .filter(({ payload, seq }) => stored[seq] !== payload)
    .map(({ seq }) => seq);
  if (lost.length === 0) return [];
  const seqs = `seq ${lost.slice(0, MOST_NAMED).join(", ")}${lost.length > MOST_NAMED ? " …" : ""}`;
  const what = `${generation.id}: ${lost.length} acknowledged event(s) are not in its log, ${seqs}`;
  return [{ kind: "unstored", what }];
}
