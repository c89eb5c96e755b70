import { decodeEvent, isTerminal, type KnownEvent, peekSeq, Transcript } from "@reprise/protocol";
import type { AckedMessage } from "@reprise/testkit";
import type { FinalLog } from "./judge-readers.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import type { Violation, ViolationKind } from "./violation.ts";

/** Problems of a log by itself, beside what the undisturbed run would have said. `payloads[0]` is the request. */
export function judgeLog(generation: TestedGeneration, payloads: readonly string[]): Violation[] {
  const violations: Violation[] = [];
  const blame = (kind: ViolationKind, what: string) => {
    violations.push({ kind, what: `${generation.id}: ${what}` });
  };
  if (payloads.length === 0) {
    blame("answer", "its create was answered, but there is no log");
    return violations;
  }
  const seqs = payloads.map((payload) => peekSeq(Buffer.from(payload)));
  const hole = seqs.findIndex((seq, index) => seq !== index);
  if (hole >= 0) blame("log", `seq ${seqs[hole]} where ${hole} should be`);

  const events = payloads.map((payload) => decodeEvent(payload) as KnownEvent);
  const ends = events.filter(({ type }) => isTerminal(type));
  const [end] = ends;
  if (end === undefined || ends.length > 1) {
    blame("ends", `${ends.length} ends (${ends.map(({ seq, type }) => `${type} at ${seq}`).join(", ")})`);
    return violations;
  }
  const isLate = ({ seq, type }: KnownEvent) => seq > end.seq && !type.startsWith("moderation.");
  if (events.some(isLate)) blame("log", `events follow its end at ${end.seq}`);
  if (!generation.mayEnd.some((type) => type === end.type))
    blame("ends", `ended as ${JSON.stringify(end)}, which this fault does not permit`);

  const { undisturbed, wholeText, mayFinish } = generation;
  const finishReason = end.type === "generation.completed" ? end.finish_reason : undefined;
  const isWhole = finishReason === undisturbed.finishReason;
  if (finishReason !== undefined && !isWhole && finishReason !== mayFinish)
    blame("ends", `finished for "${finishReason}", the undisturbed run for "${undisturbed.finishReason}"`);

  const transcript = new Transcript();
  for (const event of events) transcript.apply(event);
  const { text, usage } = transcript;
  const standing = countStanding(events);
  const expected = isWhole ? wholeText : undisturbed.tokens.slice(0, standing).join("");
  if (text !== expected)
    blame("text", `its text differs from the undisturbed run's at ${differAt(text, expected)}`);
  // Words that are typed are merged as they come: what is echoed has no certain number of tokens.
  else if (isWhole && !generation.request.input_stream && standing !== undisturbed.tokens.length)
    blame("text", `its text has ${standing} tokens, the undisturbed run's ${undisturbed.tokens.length}`);

  const produced = countProduced(events);
  if (usage.output_tokens !== produced)
    blame("text", `its usage says ${usage.output_tokens} tokens, its events ${produced}`);
  return violations;
}

/** Number of tokens of text that count in the end: those that no rewind has taken back. */
function countStanding(events: readonly KnownEvent[]): number {
  let standing: { seq: number; tokens: number }[] = [];
  for (const event of events) {
    if (event.type === "output.rewind") standing = standing.filter(({ seq }) => seq <= event.to_seq);
    else if (event.type === "output.delta") standing.push({ seq: event.seq, tokens: event.tokens ?? 1 });
  }
  return standing.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Text that was really produced, rewound or not. */
function countProduced(events: readonly KnownEvent[]): number {
  return events.reduce((sum, event) => {
    const isOutput = event.type === "output.delta" || event.type === "reasoning.delta";
    return isOutput ? sum + (event.tokens ?? 1) : sum;
  }, 0);
}

function differAt(text: string, expected: string): string {
  let at = 0;
  while (at < text.length && text[at] === expected[at]) at++;
  return `character ${at} of ${expected.length}: ${JSON.stringify(text.slice(at, at + 20))}`;
}

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
