import { type KnownEvent, textOf } from "@reprise/protocol";
import type { RuleSet } from "@reprise/rules";
import { ChannelText } from "./text/channel-text.ts";
import type { FoundIn } from "./text/channels.ts";
import { type Judging, pushInPieces } from "./text/push-in-pieces.ts";

type AnnotationEvent = Extract<KnownEvent, { type: "output.annotation" }>;

/**
 * What rules find in an annotation: a text of its own, judged with the escapes of its address undone as well. It is one thing, so a finding is about
 * all of it: a half of an address leads nowhere, and a title without its page says nothing.
 */
export function* findInAnnotation(event: AnnotationEvent, ruleSet: RuleSet): Judging<FoundIn[]> {
  const channel = new ChannelText("annotation", ruleSet);
  const text = textOf(event);
  const found = [...(yield* channel.push(event.seq, text)), ...channel.end()];
  const unescaped = unescapeUrl(event.url ?? "");
  if (unescaped !== event.url) {
    const scanner = ruleSet.createScanner();
    const inUrl = yield* pushInPieces(scanner, unescaped, ruleSet.pieceLength);
    found.push(...inUrl, ...scanner.end());
  }
  const rules = new Set<string>();
  return found.flatMap((finding) => {
    if (rules.has(finding.rule)) return [];
    rules.add(finding.rule);
    return [{ channel, finding: { ...finding, from: 0, to: text.length } }];
  });
}

/** Of each run of percent-escapes what is UTF-8; any other stays as it is. */
function unescapeUrl(url: string): string {
  return url.replaceAll("+", " ").replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}
