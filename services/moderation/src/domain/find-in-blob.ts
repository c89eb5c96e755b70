import { BLOB_CHANNEL, type EffectiveModeration, type KnownEvent, textOf } from "@reprise/protocol";
import type { RuleSet } from "@reprise/moderation";
import { ChannelText } from "./text/channel-text.ts";
import type { FoundIn } from "./text/channels.ts";
import { drain } from "./text/push-in-pieces.ts";

type BlobEvent = Extract<KnownEvent, { type: "output.blob" }>;

/** The rule and the category of a decision about content that no rule can read. */
const RULE = { rule: "media", category: "unjudged" } as const;

/** Applies the policy to media, which rules can't read. The id serves as its text, so that it is withdrawn and reviewed like a text. */
export function findInBlob(
  event: BlobEvent,
  ruleSet: RuleSet,
  { media = "allow" }: EffectiveModeration,
): FoundIn[] {
  const id = textOf(event);
  if (media === "allow" || id === "") return [];
  const channel = new ChannelText(BLOB_CHANNEL, ruleSet);
  drain(channel.push(event.seq, id));
  const action = media === "review" ? "review" : "redact";
  return [{ channel, finding: { ...RULE, action, from: 0, to: id.length } }];
}
