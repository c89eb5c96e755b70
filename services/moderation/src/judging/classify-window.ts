import type { ClassifyWindow } from "./classifier-runs.ts";
import type { Classifiers } from "../classifiers/classifiers-file.ts";
import type { Judged } from "../classifiers/classifier.ts";

/** @param classifiers those that are configured at the moment of the call: a rule that names another one stays unjudged */
export function createClassifyWindow(classifiers: () => Classifiers): ClassifyWindow {
  return async (rule, { text, prompt }, signal) => {
    const classifier = classifiers().get(rule.classifier);
    if (!classifier) return { kind: "unjudged" };
    const judgement = await classifier.classify({ input: text, prompt }, signal);
    if (judgement.kind === "unjudged") return { kind: "unjudged" };
    const hit = judgeWindow(rule, judgement);
    return { kind: "judged", ...(hit && { category: hit.category }) };
  };
}

/** A rule's thresholds for a classifier's categories. */
export interface CategoryBar {
  /** Only these count. Default: all. */
  readonly categories?: ReadonlySet<string> | undefined;
  /** From which score on a category counts. Default: what the classifier itself calls flagged. */
  readonly threshold?: number | undefined;
}

export interface Hit {
  readonly category: string;
  readonly score: number;
}

/** The category with the highest score of those that count, or undefined: nothing to act upon. A flag without a score counts as 1. */
export function judgeWindow(
  { categories, threshold }: CategoryBar,
  { flagged, scores }: Judged,
): Hit | undefined {
  const scoreOf = (category: string) =>
    // `hasOwn` has found the score.
    Object.hasOwn(scores, category) ? scores[category]! : Number(flagged.includes(category));
  return [...new Set([...flagged, ...Object.keys(scores)])]
    .filter((category) => categories?.has(category) ?? true)
    .map((category) => ({ category, score: scoreOf(category) }))
    .filter(({ category, score }) =>
      threshold === undefined ? flagged.includes(category) : score >= threshold,
    )
    .reduce<Hit | undefined>((best, hit) => (best && best.score >= hit.score ? best : hit), undefined);
}
