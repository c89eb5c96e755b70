import { EMPTY_ROOT, hashNodeText, toHash } from "./hash.ts";

/**
 * The root of a tree (RFC 6962) whose leaves come one after another and are not kept: there is one hash for each perfect subtree that no
 * larger one holds yet. Leaves are hashes as `hashText` gives them.
 */
export class RunningRoot {
  #size = 0;
  /** The roots of those subtrees, the largest first: one for each 1 of the binary digits of the size. */
  readonly #subtrees: string[] = [];

  append(leaf: string): void {
    let root = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2)
      // Each 1 of the size's digits has a subtree.
      root = hashNodeText(this.#subtrees.pop()!, root);
    this.#subtrees.push(root);
    this.#size++;
  }

  root(): Uint8Array {
    const [last, ...larger] = this.#subtrees.toReversed();
    if (last === undefined) return EMPTY_ROOT;
    return toHash(larger.reduce((right, left) => hashNodeText(left, right), last));
  }
}
