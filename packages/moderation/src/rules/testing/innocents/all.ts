import { createDraw, seedOf } from "../draw.ts";
import type { InnocentSort } from "./innocent.ts";
import { MACHINE_TEXTS } from "./machine-texts.ts";
import { NUMBER_TEXTS } from "./number-texts.ts";
import { PROSE_TEXTS } from "./prose-texts.ts";
import { REFERENCE_TEXTS } from "./reference-texts.ts";

export interface Innocent {
  readonly sort: string;
  readonly text: string;
}

/** Number of texts of each sort. */
const OF_EACH = 60;

export const SORTS: readonly InnocentSort[] = [
  ...NUMBER_TEXTS,
  ...REFERENCE_TEXTS,
  ...MACHINE_TEXTS,
  ...PROSE_TEXTS,
];

/** Texts with nothing to find. */
export function innocents(): Innocent[] {
  return SORTS.flatMap(({ name, make }) =>
    Array.from({ length: OF_EACH }, (_, at) => ({
      sort: name,
      text: make(createDraw(seedOf(`${name} ${at}`))),
    })),
  );
}
