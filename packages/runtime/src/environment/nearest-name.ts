/** The candidate that takes the fewest single-character edits to reach from `name`, when that is at most a third of its length. */
export function nearestName<Name extends string>(
  name: string,
  candidates: readonly Name[],
): Name | undefined {
  let nearest: Name | undefined;
  let fewest = Math.floor(name.length / 3) + 1;
  for (const candidate of candidates) {
    const edits = editDistance(name, candidate);
    if (edits < fewest) [nearest, fewest] = [candidate, edits];
  }
  return nearest;
}

/** Levenshtein's distance, one row of its matrix at a time. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      // Each row has an entry for every `j` up to the length of `b`; `row` has those before `j`.
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      // As above.
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1));
    }
    above = row;
  }
  // A row has one entry more than `b` has characters.
  return above[b.length]!;
}
