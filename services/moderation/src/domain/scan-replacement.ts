import { type EffectiveModeration, REQUEST_SEQ } from "@reprise/protocol";
import type { RuleFinding, RuleSet } from "@reprise/moderation";
import { ChannelText } from "./text/channel-text.ts";
import { drain } from "./text/push-in-pieces.ts";

/** Judges the part of a range that other withdrawals have left, as a text by itself: returns its replacement and the findings. */
export function scanReplacement(
  rest: string,
  { moderation, ruleSet }: { moderation: EffectiveModeration; ruleSet: RuleSet },
): { text: string; found: RuleFinding[] } {
  const text = new ChannelText("", ruleSet);
  const found = [...drain(text.push(REQUEST_SEQ, rest)), ...text.end()].filter(
    ({ action }) => action === "redact",
  );
  for (const { from, to } of found) text.mask({ from, to, replacement: moderation.replacement });
  return { text: text.masked({ fromSeq: REQUEST_SEQ, toSeq: REQUEST_SEQ }), found };
}
