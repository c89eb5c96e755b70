/** A series that an expression asks for, and the labels that it names of it. */
export interface NamedSeries {
  readonly metric: string;
  readonly labels: readonly string[];
}

export interface PromqlNames {
  readonly series: readonly NamedSeries[];
  /** Labels that series are grouped or joined by. */
  readonly groupings: readonly string[];
}

const KEYWORDS = new Set(["and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"]);
const GROUPING = new Set(["by", "without", "on", "ignoring", "group_left", "group_right"]);
/** What follows the name of an aggregation, which is no metric then. */
const AGGREGATION = new Set(["by", "without"]);
const TOKEN = /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[a-zA-Z_:][a-zA-Z0-9_:]*|(?:[0-9.]+[a-z]*)|[=!]~|[=!<>]=|[^\s]/g;
const IDENTIFIER = /^[a-zA-Z_:]/;

/** The names in an expression of PromQL. It is not checked for being one: promtool does that. */
export function namesIn(expr: string): PromqlNames {
  const tokens: string[] = expr.match(TOKEN) ?? [];
  const series: NamedSeries[] = [];
  const groupings: string[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? "";
    if (!IDENTIFIER.test(token) || KEYWORDS.has(token.toLowerCase())) continue;
    const following = tokens[at + 1] ?? "";
    if (AGGREGATION.has(following)) continue;
    const end =
      following === "{" ? tokens.indexOf("}", at) : following === "(" ? tokens.indexOf(")", at) : at;
    const inside = tokens.slice(at + 2, end).filter((inner) => IDENTIFIER.test(inner));
    if (GROUPING.has(token)) {
      groupings.push(...inside);
      at = end;
    } else if (following !== "(") {
      series.push({ metric: token, labels: following === "{" ? inside : [] });
      at = end;
    }
  }
  return { series, groupings };
}
