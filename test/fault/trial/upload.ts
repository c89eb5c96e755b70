import { setTimeout as delay } from "node:timers/promises";
import { type GenerationInput, inputOf } from "@reprise/client/input";
import { toRepriseError } from "@reprise/protocol";
import type { TestedGeneration } from "./tested-generation.ts";
import type { Trial } from "./trial.ts";

/** Words sent at once, and the pause after them. */
const MOST_AT_ONCE = 5;
const PAUSE_MS = 15;

/** A client that types a generation's input word by word with the SDK, and after an error asks how far it has come. */
export class Upload {
  readonly generation: TestedGeneration;
  /** Entries that are acknowledged. */
  stored = 0;
  /** Requests that have broken off, those that the SDK has repeated too. */
  broken = 0;
  readonly done: Promise<void>;
  readonly #trial: Trial;
  readonly #words: readonly string[];
  #progress = Promise.withResolvers<void>();

  constructor(trial: Trial, generation: TestedGeneration) {
    this.generation = generation;
    this.#trial = trial;
    this.#words = generation.undisturbed.tokens;
    this.done = this.#run().finally(() => this.#progress.resolve());
  }

  get #total(): number {
    return this.#words.length + 1;
  }

  /** Resolves when so many entries are acknowledged, or nothing more is sent. */
  async until(entries: number): Promise<void> {
    let isOver = false;
    const over = this.done.then(() => void (isOver = true));
    while (this.stored < entries && !isOver) await Promise.race([this.#progress.promise, over]);
  }

  async #run(): Promise<void> {
    const { id, tenant } = this.generation;
    const client = this.#trial.sdkOf(tenant, () => this.broken++);
    let input = inputOf(client, id);
    while (this.stored < this.#total) {
      try {
        await this.#sendNext(input);
        await delay(PAUSE_MS);
      } catch (thrown) {
        const { code, retryable, message } = toRepriseError(thrown);
        // The answer to the last entries may be lost, and the generation ends meanwhile.
        if (!retryable && code !== "generation_ended") {
          this.#trial.blame("refused", `the upload of ${id}: ${code}, ${message}`);
          return;
        }
        const state = await input.state().catch(() => undefined);
        if (!state) continue;
        this.#acknowledge(state.stored);
        input = inputOf(client, id, state);
      }
    }
  }

  async #sendNext(input: GenerationInput): Promise<void> {
    const next = this.stored;
    const words = this.#words.slice(next, next + this.#trial.random.integer(1, MOST_AT_ONCE));
    await Promise.all(words.length > 0 ? words.map((word) => input.text(word)) : [input.end()]);
    this.#acknowledge(next + Math.max(1, words.length));
  }

  #acknowledge(stored: number): void {
    this.stored = stored;
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }
}

/** Holds what a client has typed against what is stored: each entry once, in order, byte for byte. The judge holds the output against it. */
export async function judgeUpload(trial: Trial, { generation, stored }: Upload): Promise<void> {
  const { id, ref, undisturbed } = generation;
  const records = await trial.world.readInput(ref);
  let last = 0;
  let text = "";
  for (const { first, seq, at, entry } of records) {
    if (first !== last + 1) trial.blame("log", `${id}: input entry ${first} follows ${last}`);
    if (at !== Buffer.byteLength(text))
      trial.blame("log", `${id}: input entry ${first} is said to be at ${at}`);
    last = seq;
    if (entry.type === "input.delta") text += entry.text;
  }
  const { tokens } = undisturbed;
  if (text !== tokens.join("")) trial.blame("text", `${id}: its input log has another text than was typed`);
  if (last !== tokens.length + 1 || stored !== last)
    trial.blame(
      "answer",
      `${id}: ${stored} entries are acknowledged and ${last} stored of ${tokens.length + 1}`,
    );
}
