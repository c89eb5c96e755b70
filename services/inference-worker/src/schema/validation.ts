import type { JsonValue } from "@reprise/protocol";
import type { PatternBudget } from "../patterns/pattern-budget.ts";
import { isJsonObject, type JsonObject } from "./json-type.ts";

/** Thrown where a validation takes more than it may: then nothing is known. */
export class ValidationSpent extends Error {}

/** Of a text that is searched or compared. */
export const CHARACTERS_PER_STEP = 64;
const NAMES_PER_STEP = 2;

/** Of nested schemas and references: each is some frames of the stack. */
const MAX_DEPTH = 256;

/** One validation of one value: what its schemas may look up, and what it may still cost. */
export class Validation {
  readonly root: JsonValue;
  readonly patterns: PatternBudget;
  #steps: number;
  #depth = 0;
  #hasInnerIds: boolean | undefined;

  /** @param steps up to half a microsecond each, beside what patterns take */
  constructor(root: JsonValue, steps: number, patterns: PatternBudget) {
    this.root = root;
    this.patterns = patterns;
    this.#steps = steps;
  }

  /** @throws ValidationSpent */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new ValidationSpent();
  }

  /** The names of an object's fields, which V8 lists anew each time. */
  namesOf(object: JsonObject): string[] {
    const names = Object.keys(object);
    this.spend(names.length / NAMES_PER_STEP);
    return names;
  }

  /** @throws ValidationSpent */
  nested<T>(act: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new ValidationSpent();
    const result = act();
    this.#depth--;
    return result;
  }

  /** Whether a schema within the root has a name of its own, and references within it are read from there. */
  get hasInnerIds(): boolean {
    return (this.#hasInnerIds ??= this.#findIds(this.root, true));
  }

  #findIds(value: JsonValue, isRoot = false): boolean {
    this.spend(1);
    if (typeof value !== "object" || value === null) return false;
    if (!isRoot && isJsonObject(value) && isNamed(value)) return true;
    return Object.values(value).some((part) => this.#findIds(part));
  }
}

function isNamed({ $id, id }: JsonObject): boolean {
  return typeof $id === "string" || typeof id === "string";
}
