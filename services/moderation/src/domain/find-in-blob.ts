import { BLOB_CHANNEL, type EffectiveModeration, type KnownEvent, textOf } from "@reprise/protocol";
import type { RuleSet } from "@reprise/rules";
import { ChannelText } from "./text/channel-text.ts";
import type { FoundIn } from "./text/channels.ts";
import { drain } from "./text/push-in-pieces.ts";

type BlobEvent = Extract<KnownEvent, { type: "output.blob" }>;

/** What a decision about something that no rule can read says of its reason. */
const RULE = { rule: "media", category: "unjudged" } as const;

/** Rules read text, and this is none: the policy says what becomes of it. Its id stands for it, so that it is withdrawn and asked about like a text. */
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
