import type { KnownEvent } from "./event.ts";

type AnnotationEvent = Extract<KnownEvent, { type: "output.annotation" }>;

/** Where something in the text of a generation comes from. */
export type Annotation = Omit<AnnotationEvent, "seq" | "type"> & { readonly redacted?: true };

/** The channel of annotations. */
export const ANNOTATION_CHANNEL = "annotation";

const PLACE = ["kind", "from_seq", "to_seq", "from_offset", "to_offset"];

/** An annotation as it is to be shown where moderation has withdrawn it: what it is of, and `replacement` in the place of all it says. */
export function redactAnnotation(annotation: Annotation, replacement: string): Annotation {
  const place = Object.entries(annotation).filter(([name]) => PLACE.includes(name));
  return { ...Object.fromEntries(place), title: replacement, redacted: true } as Annotation;
}
