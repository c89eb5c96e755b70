import { RepriseError } from "@reprise/protocol";

/**
 * The type to answer with: the one of `offered` that the Accept header ranks highest, and of equals the first offered.
 * @throws RepriseError `not_acceptable`
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  if (accept === undefined || accept.trim() === "") return offered[0];
  const ranges = accept.split(",").map(parseRange);
  let best: { type: T; quality: number } | undefined;
  for (const type of offered) {
    const quality = qualityOf(type, ranges);
    if (quality > (best?.quality ?? 0)) best = { type, quality };
  }
  if (best) return best.type;
  throw new RepriseError("not_acceptable", `Accept must allow one of: ${offered.join(", ")}.`, {
    param: "Accept",
  });
}

interface Range {
  readonly range: string;
  readonly quality: number;
}

function parseRange(text: string): Range {
  const [range = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const q = parameters.find((parameter) => parameter.startsWith("q="));
  const quality = q === undefined ? 1 : Number(q.slice(2));
  return { range, quality: quality >= 0 && quality <= 1 ? quality : 0 };
}

/** The quality of the most specific range that the type falls into. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const family = `${type.slice(0, type.indexOf("/"))}/*`;
  for (const name of [type, family, "*/*"]) {
    const match = ranges.find(({ range }) => range === name);
    if (match) return match.quality;
  }
  return 0;
}
