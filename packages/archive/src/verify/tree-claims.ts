import type { MerkleTree } from "../merkle/merkle-tree.ts";
import type { Checkpoint } from "../note/checkpoint.ts";
import type { Findings } from "./finding.ts";

interface Claim extends Checkpoint {
  /** Who says so. */
  readonly where: string;
}

/** Claims of checkpoints about the root of a tree at some size: compared with the trees as they grow. */
export class TreeClaims {
  readonly #claims = new Map<string, Claim[]>();
  readonly #prefix: string;

  /** @param name of the archive */
  constructor(name: string) {
    this.#prefix = `${name}/`;
  }

  /** False for a checkpoint of another archive. */
  add(where: string, checkpoint: Checkpoint): boolean {
    if (!checkpoint.origin.startsWith(this.#prefix)) return false;
    const tree = checkpoint.origin.slice(this.#prefix.length);
    this.#claims.set(tree, [...(this.#claims.get(tree) ?? []), { ...checkpoint, where }]);
    return true;
  }

  /** To be called for every size that a tree has. */
  check(name: string, tree: MerkleTree, findings: Findings): void {
    const claims = this.#claims.get(name);
    if (!claims) return;
    for (const { size, root, where } of claims) {
      if (size === tree.size && Buffer.compare(root, tree.root()) !== 0)
        findings.add("tampered", where, `the first ${size} leaves of the tree ${name} are others`);
    }
  }

  /** To be called when the trees are complete. */
  checkEnds(sizeOf: (tree: string) => number, findings: Findings): void {
    for (const [name, claims] of this.#claims) {
      for (const { size, where } of claims) {
        const there = sizeOf(name);
        if (size > there)
          findings.add("tampered", where, `the tree ${name} had ${size} leaves, and only ${there} are left`);
      }
    }
  }
}
