import type { KnownEvent, UnknownEvent } from "./event.ts";
import type { OutputItem } from "./output-item.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** A part of the output and the event that it came with. */
interface Segment {
  readonly seq: number;
  readonly item: OutputItem;
}

/** What of a log's output counts, in the log's order: without what was rewound, and as moderation has it. */
export class Segments {
  readonly #withdrawals: Withdrawals | undefined;
  #list: Segment[] = [];
  #text = "";
  #joined = 0;

  /** @param withdrawals of the same log; undefined for the output as it was produced */
  constructor(withdrawals: Withdrawals | undefined) {
    this.#withdrawals = withdrawals;
  }

  /** All texts, joined. Read after every event it costs no more than read once. */
  get text(): string {
    for (; this.#joined < this.#list.length; this.#joined++) {
      const { item } = this.#list[this.#joined]!;
      if (item.type === "text") this.#text += item.text;
    }
    return this.#text;
  }

  /** Neighbouring texts are one. */
  get output(): OutputItem[] {
    const items: OutputItem[] = [];
    for (const { item } of this.#list) {
      const last = items.at(-1);
      if (item.type === "text" && last?.type === "text") {
        items[items.length - 1] = {
          type: "text",
          text: last.text + item.text,
          tokens: last.tokens + item.tokens,
        };
      } else items.push(item);
    }
    return items;
  }

  /** One by one, as their events brought them. */
  get items(): OutputItem[] {
    return this.#list.map(({ item }) => item);
  }

  /** The `seq` of the last tool's answer; 0 without one. */
  get turnSeq(): number {
    return this.#list.findLast(({ item }) => item.type === "tool_result")?.seq ?? 0;
  }

  add(seq: number, item: OutputItem): void {
    this.#list.push({ seq, item: this.#shown(seq, item) });
  }

  /** @returns what does not count any more */
  rewind(toSeq: number): OutputItem[] {
    const rewound = this.#list.filter(({ seq }) => seq > toSeq);
    this.#list = this.#list.filter(({ seq }) => seq <= toSeq);
    this.#rejoin();
    return rewound.map(({ item }) => item);
  }

  /** Takes an event that may withdraw some of it. */
  withdraw(event: KnownEvent | UnknownEvent): void {
    const range = this.#withdrawals?.apply(event);
    if (!range) return;
    const { fromSeq, toSeq } = range;
    // From the end: what is withdrawn was said a moment ago.
    for (let i = this.#list.length - 1; i >= 0 && this.#list[i]!.seq >= fromSeq; i--) {
      const { seq, item } = this.#list[i]!;
      if (seq <= toSeq) this.#list[i] = { seq, item: this.#shown(seq, item) };
    }
    this.#rejoin();
  }

  #shown(seq: number, item: OutputItem): OutputItem {
    if (!this.#withdrawals || item.type === "tool_result") return item;
    const text = this.#withdrawals.replacementOf(seq, item.type === "text" ? "0" : "tool");
    if (text === undefined) return item;
    return item.type === "text" ? { ...item, text } : { ...item, arguments: text };
  }

  #rejoin(): void {
    this.#text = "";
    this.#joined = 0;
  }
}
