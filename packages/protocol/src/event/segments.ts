import type { Seq } from "../seq.ts";
import { firstWhere } from "../first-where.ts";
import type { OutputItem, TurnItem } from "./output-item.ts";
import type { SeqRange } from "./withdrawn-ranges.ts";
import { NAME_CHANNEL, SEALED_CHANNEL, type WithdrawnText } from "./withdrawn-text.ts";

/** A part of the output and the event that it came with. */
interface Segment {
  readonly seq: Seq;
  readonly item: OutputItem;
}

/** The valid output of a log, in order: without what was rewound, and with moderation's replacements. */
export class Segments {
  readonly #withdrawals: WithdrawnText | undefined;
  readonly #channel: string;
  /** One by one, as their events brought them. */
  readonly list: Segment[] = [];
  /** The texts of the first segments, joined, and where each of them begins in that. */
  #text = "";
  #starts: number[] = [];

  /**
   * @param withdrawals of the same log; undefined for the output as it was produced
   * @param channel of its texts
   */
  constructor(withdrawals: WithdrawnText | undefined, channel = "0") {
    this.#withdrawals = withdrawals;
    this.#channel = channel;
  }

  /** All texts, joined. Reading it after every event costs no more than reading it once; after a withdrawal, the text from there on is joined again. */
  get text(): string {
    for (const { item } of this.list.slice(this.#starts.length)) {
      this.#starts.push(this.#text.length);
      if (item.type === "text") this.#text += item.text;
    }
    return this.#text;
  }

  /** Neighbouring texts are one. */
  get output(): OutputItem[] {
    return joinTexts(this.list.map(({ item }) => item));
  }

  /** The `seq` of the last tool's answer; 0 without one. */
  get turnSeq(): Seq {
    return this.list.findLast(({ item }) => item.type === "tool_result")?.seq ?? (0 as Seq);
  }

  add(seq: Seq, item: OutputItem): void {
    this.list.push({ seq, item: this.#shown(seq, item) });
  }

  /** @returns what does not count any more */
  rewind(toSeq: Seq): OutputItem[] {
    const from = this.#indexOf((toSeq + 1) as Seq);
    this.#rejoin(from);
    return this.list.splice(from).map(({ item }) => item);
  }

  /** Reads the events again in which something was withdrawn. */
  reread({ fromSeq, toSeq }: SeqRange): void {
    const from = this.#indexOf(fromSeq);
    const to = this.#indexOf((toSeq + 1) as Seq);
    for (const [i, { seq, item }] of this.list.slice(from, to).entries())
      this.list[from + i] = { seq, item: this.#shown(seq, item) };
    this.#rejoin(from);
  }

  /** Where the first segment lies that came with this event or a later one. */
  #indexOf(seq: Seq): number {
    return firstWhere(this.list, (segment) => segment.seq >= seq);
  }

  #shown(seq: Seq, item: OutputItem): OutputItem {
    if (!this.#withdrawals || item.type === "tool_result") return item;
    const text = this.#withdrawals.replacementOf(seq, item.type === "text" ? this.#channel : "tool");
    if (item.type === "text") return text === undefined ? item : { ...item, text };
    const name = this.#withdrawals.replacementOf(seq, NAME_CHANNEL);
    const isSealed = this.#withdrawals.replacementOf(seq, SEALED_CHANNEL) !== undefined;
    if (text === undefined && name === undefined && !(isSealed && item.provider_state)) return item;
    const { provider_state: _state, ...call } = item;
    return { ...call, name: name ?? item.name, arguments: text ?? item.arguments };
  }

  /** Joins the texts again from this segment on. */
  #rejoin(from: number): void {
    if (from >= this.#starts.length) return;
    this.#text = this.#text.slice(0, this.#starts[from]);
    this.#starts.length = from;
  }
}

/** Neighbouring texts are one. */
export function joinTexts<Item extends TurnItem>(parts: readonly Item[]): Item[] {
  const items: Item[] = [];
  for (const item of parts) {
    const last = items.at(-1);
    if (item.type === "text" && last?.type === "text")
      items[items.length - 1] = { ...last, text: last.text + item.text, tokens: last.tokens + item.tokens };
    else items.push(item);
  }
  return items;
}
