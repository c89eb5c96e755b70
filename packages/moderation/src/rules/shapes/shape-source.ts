/** A built-in rule as its set lists it. */
export interface ShapeSource {
  /** After the set's name: `cards.card`. */
  readonly name: string;
  /** RE2 syntax, over compatible forms; case counts. */
  readonly pattern: string;
  /** The longest match, in symbols. */
  readonly maxLength: number;
  /** The check of the `Shape`. */
  readonly check?: (text: string, before: string) => number;
}
