import type { AnnotationEvent } from "../../engine.ts";

/** The sources that an answer names, and a flag for content that fits no event. */
export interface Sources {
  readonly annotations: readonly AnnotationEvent[];
  readonly hasOthers: boolean;
}

const NO_SOURCES: Sources = { annotations: [], hasOthers: false };

type Fields = Readonly<Record<string, unknown>>;

/**
 * A delta's `annotations`: `{type: "url_citation", url_citation: {start_index, end_index, url, title, content}}` and `{type: "file_citation",
 * file_citation: {file_id, filename, quote}}`, or with these fields beside the type. Places are code points of the message.
 */
export function toAnnotations(value: unknown): Sources {
  if (!Array.isArray(value) || value.length === 0) return NO_SOURCES;
  const annotations: AnnotationEvent[] = [];
  let hasOthers = false;
  for (const one of listOf(value)) {
    const annotation = toAnnotation(fieldsOf(one));
    if (annotation) annotations.push(annotation);
    else hasOthers = true;
  }
  return { annotations, hasOthers };
}

/** Returns the sources that search gateways repeat with each chunk for the whole answer: `search_results`, else `citations`. */
export function toSources(citations: unknown, results: unknown): readonly AnnotationEvent[] | undefined {
  const found = listOf(results).length > 0 ? listOf(results) : listOf(citations);
  if (found.length === 0) return undefined;
  return found.flatMap((one) => toUrl(typeof one === "string" ? { url: one } : fieldsOf(one)) ?? []);
}

/** Mistral's parts of a content: `{type: "reference", reference_ids}`, and `{type: "tool_reference", title, url}`. Undefined for any other part. */
export function toReferences(part: Fields): readonly AnnotationEvent[] | undefined {
  if (part["type"] === "tool_reference") {
    const url = toUrl(part);
    return url && [url];
  }
  if (part["type"] !== "reference") return undefined;
  return listOf(part["reference_ids"]).flatMap((id) =>
    typeof id === "string" || typeof id === "number"
      ? { type: "annotation", kind: "file", file: `${id}` }
      : [],
  );
}

function toAnnotation(value: Fields): AnnotationEvent | undefined {
  const { type } = value;
  if (type !== "url_citation" && type !== "file_citation") return undefined;
  const inner = value[type];
  const said = inner === undefined ? value : fieldsOf(inner);
  return type === "url_citation" ? toUrl(said) : toFile(said);
}

function toUrl(said: Fields): AnnotationEvent | undefined {
  const url = textOf(said["url"]);
  if (url === undefined) return undefined;
  return {
    type: "annotation",
    kind: "url",
    ...placeOf(said),
    url,
    ...named(said, { title: "title", quote: "content" }),
  };
}

function toFile(said: Fields): AnnotationEvent | undefined {
  const file = textOf(said["file_id"]);
  const name = textOf(said["filename"]);
  if (file === undefined && name === undefined) return undefined;
  return {
    type: "annotation",
    kind: "file",
    ...placeOf(said),
    ...named(said, { file: "file_id", name: "filename", quote: "quote" }),
  };
}

/** Returns the fields that are texts, under their new names. */
function named(said: Fields, names: Readonly<Record<string, string>>): Record<string, string> {
  const found = Object.entries(names).flatMap(([name, field]) => {
    const text = textOf(said[field]);
    return text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(found);
}

function placeOf({ start_index: from, end_index: to }: Fields): { from?: number; to?: number } {
  return isPlace(from) && isPlace(to) ? { from, to } : {};
}

function isPlace(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
