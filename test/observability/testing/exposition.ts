/** Labels by series, as they stand in the text that Prometheus scrapes: of a histogram `…_bucket`, `…_sum` and `…_count`. */
export type Exposition = ReadonlyMap<string, ReadonlySet<string>>;

/** @param targetLabels what Prometheus adds to every series that it scrapes */
export function parseExposition(texts: readonly string[], targetLabels: readonly string[]): Exposition {
  const found = new Map<string, Set<string>>([["up", new Set(targetLabels)]]);
  for (const line of texts.flatMap((text) => text.split("\n"))) {
    const [, name, labels = ""] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = found.get(name) ?? new Set(targetLabels);
    for (const [, label = ""] of labels.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    found.set(name, known);
  }
  return found;
}
