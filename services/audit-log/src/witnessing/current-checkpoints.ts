import { type Archive, ARCHIVE_TREE } from "@reprise/archive";
import {
  archiveCheckpoint,
  cosignedCheckpoint,
  newestCheckpoints,
  type SignedCheckpoint,
  toSignedCheckpoint,
} from "./signed-checkpoints.ts";

/**
 * The checkpoints to submit to witnesses: the newest checkpoint of the archive's own tree, and of each tenant whose tree has grown since its last
 * cosigned one. A tenant that does not grow is not submitted again: the archive's own tree holds its last checkpoint.
 */
export class CurrentCheckpoints {
  readonly #archive: Archive;
  /** The archive's own tree first: it is the one that shows a cut end. */
  readonly #newest = new Map<string, SignedCheckpoint>();
  #next: number | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(archive: Archive) {
    this.#archive = archive;
  }

  /**
   * Takes in what the archive's state has got to. Never reads beyond it: there are no proofs yet for what lies there.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  refresh(): Promise<ReadonlyMap<string, SignedCheckpoint>> {
    const done = this.#turn.then(() => this.#refresh());
    this.#turn = done.catch(() => {});
    return done;
  }

  /** That of the archive's own tree alone: it needs no search for what tenants lack, which may be long after a start. */
  async own(): Promise<SignedCheckpoint | undefined> {
    const { state } = this.#archive;
    const known = this.#newest.get(ARCHIVE_TREE);
    if (known?.size === state.next) return known;
    const stored = await archiveCheckpoint(this.#archive);
    if (!stored || stored.size > state.archiveTree.size) return known;
    this.#newest.set(ARCHIVE_TREE, stored);
    return stored;
  }

  async #refresh(): Promise<ReadonlyMap<string, SignedCheckpoint>> {
    const end = this.#archive.state.next;
    await this.own();
    if (this.#next === undefined) await this.#takeUncosigned();
    else await this.#takeCommits(this.#next, end);
    this.#next = end;
    return this.#newest;
  }

  async #takeCommits(from: number, end: number): Promise<void> {
    if (from === end) return;
    for await (const { commit } of this.#archive.commits(from)) {
      if (commit.n >= end) return;
      for (const { tenant, checkpoint } of commit.tenants)
        this.#newest.set(tenant, toSignedCheckpoint(checkpoint));
    }
  }

  async #takeUncosigned(): Promise<void> {
    const { state } = this.#archive;
    const stale: string[] = [];
    for (const tenant of state.tenants()) {
      const cosigned = await cosignedCheckpoint(this.#archive, tenant);
      if (cosigned?.size !== state.tree(tenant).size) stale.push(tenant);
    }
    for (const [tenant, checkpoint] of await newestCheckpoints(this.#archive, stale))
      this.#newest.set(tenant, checkpoint);
  }
}
