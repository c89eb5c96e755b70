import type { Draw } from "./draw.ts";

/** Something that a built-in rule is there to find. */
export interface Kind {
  readonly name: string;
  /** The rule that finds it. */
  readonly rule: string;
  /**
   * `strong`: a prefix or a check digit tells it from other text, so it counts in the middle of an identifier too. `weak`: only its
   * form tells it. `block`: several lines.
   */
  readonly form: "strong" | "weak" | "block";
  readonly make: (draw: Draw) => string;
  /** The ways in which it is written, by name. Default: as it is made. */
  readonly layouts?: Readonly<Record<string, (bare: string, draw: Draw) => string>>;
}
