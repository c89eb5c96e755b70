import { type BlobStore, cosignedKey } from "@reprise/archive";
import type { SignedCheckpoint } from "./signed-checkpoints.ts";

interface Cosigned {
  readonly checkpoint: SignedCheckpoint;
  /** By the witness's URL. */
  readonly lines: Map<string, string>;
}

/** Keeps the newest cosigned checkpoint of each tree, with the lines of all witnesses that have cosigned that very one. */
export class CosignedNotes {
  readonly #store: BlobStore;
  readonly #trees = new Map<string, Cosigned>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: BlobStore) {
    this.#store = store;
  }

  /** @throws RepriseError `archive_unavailable` */
  add(tree: string, checkpoint: SignedCheckpoint, url: string, lines: string): Promise<void> {
    const done = this.#turn.then(() => this.#add(tree, checkpoint, url, lines));
    this.#turn = done.catch(() => {});
    return done;
  }

  async #add(tree: string, checkpoint: SignedCheckpoint, url: string, lines: string): Promise<void> {
    let known = this.#trees.get(tree);
    if (known && known.checkpoint.size > checkpoint.size) return;
    if (known?.checkpoint.note !== checkpoint.note) {
      known = { checkpoint, lines: new Map() };
      this.#trees.set(tree, known);
    }
    known.lines.set(url, lines);
    const note = `${checkpoint.note}${[...known.lines.values()].join("")}`;
    await this.#store.put(cosignedKey(tree), Buffer.from(note));
  }
}
