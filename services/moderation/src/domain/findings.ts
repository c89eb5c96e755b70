import { type Finding, MAX_FINDINGS } from "@reprise/protocol";

/** The findings in one generation, for its verdict: their number, and the first 100. */
export class Findings {
  #first: Finding[] = [];
  #count = 0;

  get first(): readonly Finding[] {
    return this.#first;
  }

  get count(): number {
    return this.#count;
  }

  add(finding: Finding): void {
    this.#count++;
    if (this.#first.length < MAX_FINDINGS) this.#first.push(finding);
  }

  /** Takes over what an earlier judge of the same log has told of its findings. */
  resume(first: readonly Finding[], count: number): void {
    this.#first = [...first];
    this.#count = count;
  }
}
