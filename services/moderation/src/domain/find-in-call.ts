import { type KnownEvent, NAME_CHANNEL } from "@reprise/protocol";
import type { RuleFinding, RuleSet } from "@reprise/moderation";
import { ChannelText } from "./text/channel-text.ts";
import type { FoundIn } from "./text/channels.ts";
import type { Judging } from "./text/push-in-pieces.ts";
import { findEscaped } from "./text/escaped-text.ts";

interface CallRules {
  readonly ruleSet: RuleSet;
  /** The functions of the request. */
  readonly functions: ReadonlySet<string>;
}

/**
 * Judges a tool call. Its arguments are a text of their own, also judged with JSON's escapes undone. So is its name, unless the
 * request has such a function: then the name comes from the client, not from the model.
 */
export function* findInCall(
  { seq, name, arguments: text }: Extract<KnownEvent, { type: "tool.call" }>,
  { ruleSet, functions }: CallRules,
): Judging<FoundIn[]> {
  const call = new ChannelText("tool", ruleSet);
  const found: RuleFinding[] = [...(yield* call.push(seq, text)), ...call.end()];
  found.push(...(yield* findEscaped(text, ruleSet, found)));
  const inArguments = found.map((finding) => ({ channel: call, finding }));
  if (functions.has(name)) return inArguments;
  const named = new ChannelText(NAME_CHANNEL, ruleSet);
  const foundInName = [...(yield* named.push(seq, name)), ...named.end()];
  const inName = foundInName.map((finding) => ({ channel: named, finding }));
  return [...inName, ...inArguments];
}
