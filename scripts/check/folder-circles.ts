/** One file of the repository that imports another one; paths are from the root. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

export interface FolderCircle {
  /** Folders and files of one `src`; each imports the next one, and the last imports the first. */
  readonly entries: readonly string[];
  /** The imports that close the circle. */
  readonly imports: readonly Import[];
}

/** The imports between the entries of one `src`: by the importing entry, then by the imported one. */
type Graph = Map<string, Map<string, Import[]>>;

const ENTRY = /^((?:packages|services)\/[^/]+\/src\/)([^/]+)/;
const FOR_TESTS = /\.(test|fixture)\.ts$|\/testing\//;

/**
 * Finds circles between the first-level entries of each `src`: its folders, and its files, each of which counts as a folder of its own.
 * Tests, fixtures and `testing/` may import from everywhere. Returns the shortest circle of each entry that is in one.
 */
export function findFolderCircles(imports: readonly Import[]): FolderCircle[] {
  const circles = new Map<string, FolderCircle>();
  for (const [src, graph] of graphsOf(imports))
    for (const entry of [...graph.keys()].toSorted()) {
      const entries = shortestCircle(graph, entry);
      const key = [src, ...(entries ?? []).toSorted()].join(" ");
      if (!entries || circles.has(key)) continue;
      circles.set(key, {
        entries: entries.map((name) => src + name),
        imports: entries.flatMap((name, i) => graph.get(name)!.get(entries[(i + 1) % entries.length]!)!),
      });
    }
  return [...circles.values()];
}

function graphsOf(imports: readonly Import[]): Map<string, Graph> {
  const graphs = new Map<string, Graph>();
  for (const one of imports) {
    if (FOR_TESTS.test(one.from) || FOR_TESTS.test(one.to)) continue;
    const [, src, from] = ENTRY.exec(one.from) ?? [];
    const [, srcOfTo, to] = ENTRY.exec(one.to) ?? [];
    if (src === undefined || src !== srcOfTo || from === to) continue;
    const graph = graphs.get(src) ?? new Map<string, Map<string, Import[]>>();
    graphs.set(src, graph);
    const imported = graph.get(from!) ?? new Map<string, Import[]>();
    graph.set(from!, imported);
    imported.set(to!, [...(imported.get(to!) ?? []), one]);
  }
  return graphs;
}

/** Searches breadth first for a way from an entry back to it. */
function shortestCircle(graph: Graph, start: string): string[] | undefined {
  const seen = new Set<string>();
  const ways = [[start]];
  for (const way of ways)
    for (const next of graph.get(way.at(-1)!)?.keys() ?? []) {
      if (next === start) return way;
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  return undefined;
}
