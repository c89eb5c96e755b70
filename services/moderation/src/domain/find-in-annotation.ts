import { type KnownEvent, textOf } from "@reprise/protocol";
import type { RuleSet } from "@reprise/moderation";
import { ChannelText } from "./text/channel-text.ts";
import type { FoundIn } from "./text/channels.ts";
import { type Judging, pushInPieces } from "./text/push-in-pieces.ts";

type AnnotationEvent = Extract<KnownEvent, { type: "output.annotation" }>;

/**
 * Judges an annotation: a text of its own, also judged with the escapes of its address undone. A finding covers
 * the whole annotation: half of an address leads nowhere, and a title without its page says nothing.
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

/** Decodes each run of percent-escapes that is UTF-8; others stay as they are. */
function unescapeUrl(url: string): string {
  return url.replaceAll("+", " ").replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}
