interface Measured {
  readonly latency: { readonly p99: number };
}

/** Measures each variant once per round, in turn. `rows` has each variant's best round: the one with the lowest p99, as in S1. */
export async function alternatingRounds<V, R extends Measured>(
  variants: readonly V[],
  rounds: number,
  measure: (variant: V, round: number) => Promise<R>,
): Promise<{ rows: R[]; rounds: R[][] }> {
  const all: R[][] = [];
  for (let round = 1; round <= rounds; round++) {
    const rows: R[] = [];
    for (const variant of variants) rows.push(await measure(variant, round));
    all.push(rows);
  }
  return { rows: variants.map((_, index) => all.map((rows) => rows[index]!).reduce(better)), rounds: all };
}

function better<R extends Measured>(one: R, other: R): R {
  return other.latency.p99 < one.latency.p99 ? other : one;
}
