import type { Annotation } from "@reprise/protocol";
import type { TextPlaces } from "../../text-places.ts";

export interface ChatAnnotation {
  type: "url_citation";
  url_citation: { start_index: number; end_index: number; title: string; url: string };
}

/**
 * OpenAI's API knows pages alone: undefined for a file, and where moderation has withdrawn the address.
 * @param places of the texts of output 0
 */
export function toChatAnnotation(annotation: Annotation, places: TextPlaces): ChatAnnotation | undefined {
  const { kind, url, title = "" } = annotation;
  if (kind !== "url" || url === undefined) return undefined;
  const [start_index, end_index] = places.rangeOf(annotation);
  return {
    type: "url_citation",
    url_citation: { start_index, end_index, title, url },
  };
}
