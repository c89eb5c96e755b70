import {
  type Seq,
  channelOf,
  isDelta,
  isKnownEvent,
  type KnownEvent,
  type UnknownEvent,
} from "@reprise/protocol";
import type { RuleFinding, RuleSet } from "@reprise/moderation";
import { ChannelText } from "./channel-text.ts";
import type { Judging } from "./push-in-pieces.ts";

/** A finding, and the text that it is in. */
export interface FoundIn {
  readonly channel: ChannelText;
  readonly finding: RuleFinding;
}

/** The texts of one generation that grow event by event, by their channels, and when what is pending in them is settled. */
export class Channels {
  readonly #ruleSet: RuleSet;
  readonly #texts = new Map<string, ChannelText>();
  /** Those that another one has taken over from in the model's present turn. */
  readonly #takenOver = new Set<string>();

  constructor(ruleSet: RuleSet) {
    this.#ruleSet = ruleSet;
  }

  get(name: string): ChannelText | undefined {
    return this.#texts.get(name);
  }

  get all(): Iterable<ChannelText> {
    return this.#texts.values();
  }

  /** Adds the text of an event to its channel. */
  *push(name: string, seq: Seq, text: string): Judging<readonly FoundIn[]> {
    const ended = text === "" ? NOTHING : this.#takeOver(name);
    const channel = this.#texts.get(name) ?? this.#create(name);
    const found = foundIn(channel, yield* channel.push(seq, text));
    return ended.length === 0 ? found : [...ended, ...found];
  }

  /** A call ends the model's turn, and nothing follows before a reader has seen the call. */
  endTurn(): readonly FoundIn[] {
    this.#takenOver.clear();
    return [...this.all].flatMap((channel) => foundIn(channel, channel.settle()));
  }

  end(): readonly FoundIn[] {
    return [...this.all].flatMap((channel) => foundIn(channel, channel.end()));
  }

  /**
   * Continues the texts after the part that a rewind has kept.
   * @returns for each channel the old text, which has ended, and the one that continues
   */
  *rewind(toSeq: Seq, kept: readonly KeptText[]): Judging<{ old: ChannelText; next: ChannelText }[]> {
    this.#takenOver.clear();
    const texts: { old: ChannelText; next: ChannelText }[] = [];
    for (const old of this.all) {
      const next = this.#create(old.name);
      // What is found in there was found before, but for what only the cut has brought to light: that is found with what follows.
      for (const part of kept) if (part.channel === old.name) yield* next.push(part.seq, part.text);
      next.continue(old);
      old.leave(toSeq);
      texts.push({ old, next });
    }
    return texts;
  }

  /**
   * Settles the other channels when the model changes from reasoning to its answer: the reasoning has ended, and a half match there would hold back the whole
   * answer.
   * Outputs come side by side, and none of them ends another. A channel that continues later shows that the engine mixes them: it is
   * settled by a take-over once in a turn, so that no match can be shown bit by bit by changing back and forth.
   */
  #takeOver(name: string): readonly FoundIn[] {
    let found = NOTHING;
    for (const channel of this.all) {
      const isOther = isThought(channel.name) !== isThought(name);
      if (!isOther || channel.pendingLength === 0 || this.#takenOver.has(channel.name)) continue;
      this.#takenOver.add(channel.name);
      found = [...found, ...foundIn(channel, channel.settle())];
    }
    return found;
  }

  #create(name: string): ChannelText {
    const channel = new ChannelText(name, this.#ruleSet);
    this.#texts.set(name, channel);
    return channel;
  }
}

/** True for a channel of reasoning, false for the answer. */
function isThought(name: string): boolean {
  return name === "reasoning" || name === "reasoning_summary";
}

const NOTHING: readonly FoundIn[] = [];

function foundIn(channel: ChannelText, findings: readonly RuleFinding[]): readonly FoundIn[] {
  return findings.length === 0 ? NOTHING : findings.map((finding) => ({ channel, finding }));
}

/** A part of the text that counts after a rewind. */
export interface KeptText {
  readonly seq: Seq;
  readonly channel: string;
  readonly text: string;
}

/** The texts of a log that count, folded event by event. */
export class KeptTexts {
  readonly #texts: KeptText[] = [];

  /** @returns those that a rewind has kept; none for other events */
  fold(event: KnownEvent | UnknownEvent): readonly KeptText[] {
    if (event.type === "output.rewind") {
      while ((this.#texts.at(-1)?.seq ?? 0) > event.to_seq) this.#texts.pop();
      return this.#texts;
    }
    // A call's arguments are a text of their own: no text continues them.
    if (isKnownEvent(event) && isDelta(event))
      this.#texts.push({ seq: event.seq, channel: channelOf(event), text: event.text });
    return [];
  }
}
