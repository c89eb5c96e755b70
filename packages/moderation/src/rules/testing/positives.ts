import { CARD_KINDS } from "./card-kinds.ts";
import { type Decoration, DECORATIONS } from "./decorations.ts";
import { createDraw, type Draw, seedOf } from "./draw.ts";
import { KEY_KINDS } from "./key-kinds.ts";
import type { Kind } from "./kind.ts";
import { PERSONAL_KINDS } from "./personal-kinds.ts";
import { SECRET_KINDS } from "./secret-kinds.ts";

/** A text with one thing to find. */
export interface Positive {
  readonly kind: Kind;
  /** Its layout and the text around it. */
  readonly manner: string;
  readonly text: string;
  /** UTF-16 offsets of what is to be found, all of it. */
  readonly from: number;
  readonly to: number;
}

export const KINDS: readonly Kind[] = [...CARD_KINDS, ...SECRET_KINDS, ...KEY_KINDS, ...PERSONAL_KINDS];

const BARE: NonNullable<Kind["layouts"]> = { "as it is": (bare) => bare };
/** Number of plain sentences for each layout. */
const EACH_LAYOUT = 1;

/** Returns each kind within each decoration, in one layout or another, and each of its layouts in plain sentences. */
export function positives(): Positive[] {
  return KINDS.flatMap((kind) => {
    const layouts = Object.entries(kind.layouts ?? BARE);
    const suiting = DECORATIONS.filter(({ suits = ["strong", "weak"] }) => suits.includes(kind.form));
    const [, sentence] = DECORATIONS as readonly [Decoration, Decoration];
    const decorated = suiting.map((decoration, at) => [layouts[at % layouts.length], decoration] as const);
    const laidOut = layouts.flatMap((layout) =>
      Array.from({ length: EACH_LAYOUT }, () => [layout, sentence] as const),
    );
    return [...decorated, ...laidOut].map(([layout, decoration], at) => {
      const [name, lay] = layout as (typeof layouts)[number];
      const manner = `${name}, ${decoration.name}`;
      const draw = createDraw(seedOf(`${kind.name} ${manner} ${at}`));
      return { kind, manner, ...write(kind, lay, decoration, draw) };
    });
  });
}

function write(
  kind: Kind,
  lay: (bare: string, draw: Draw) => string,
  { before, after, lineEnd }: Decoration,
  draw: Draw,
): Pick<Positive, "text" | "from" | "to"> {
  const laid = lay(kind.make(draw), draw);
  const written = lineEnd === undefined ? laid : laid.replaceAll(/\r?\n/g, lineEnd);
  const text = before + written + after;
  if (kind.form !== "block") return { text, from: before.length, to: before.length + written.length };
  return { text, from: text.indexOf("-----BEGIN"), to: text.lastIndexOf("-----") + 5 };
}
