import type { EffectiveModeration } from "@reprise/protocol";
import type { RuleFinding, RuleSet } from "@reprise/rules";
import { ChannelText } from "./text/channel-text.ts";

/** What others have left standing of a range, judged as a text by itself: how it is to read, and why. */
export function scanReplacement(
  rest: string,
  { moderation, ruleSet }: { moderation: EffectiveModeration; ruleSet: RuleSet },
): { text: string; found: RuleFinding[] } {
  const text = new ChannelText("", ruleSet.createScanner());
  const found = [...text.push(0, rest), ...text.end()].filter(({ action }) => action === "redact");
  for (const { from, to } of found) text.mask({ from, to, replacement: moderation.replacement });
  return { text: text.masked({ fromSeq: 0, toSeq: 0 }), found };
}
