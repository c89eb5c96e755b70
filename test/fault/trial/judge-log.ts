import { decodeEvent, isTerminal, type KnownEvent, peekSeq, Transcript } from "@reprise/protocol";
import type { TestedGeneration } from "./tested-generation.ts";
import type { Violation, ViolationKind } from "./violation.ts";

/** What is wrong with a log by itself, beside what the undisturbed run would have said. `payloads[0]` is the request. */
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

  const transcript = new Transcript();
  for (const event of events) transcript.apply(event);
  const { wholeText } = generation;
  const isWhole = end.type === "generation.completed" && end.finish_reason === "stop";
  const isRight = isWhole ? transcript.text === wholeText : wholeText.startsWith(transcript.text);
  if (!isRight)
    blame("text", `its text differs from the undisturbed run's at ${differAt(transcript.text, wholeText)}`);

  const produced = sumTokens(events);
  const { output_tokens: counted } = transcript.usage;
  if (counted !== produced) blame("text", `its usage says ${counted} tokens, its events ${produced}`);
  return violations;
}

/** What was really produced, rewound or not. */
function sumTokens(events: readonly KnownEvent[]): number {
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
