import { judgeWindow } from "../classifiers/judge-window.ts";
import type { ClassifyWindow } from "./classifier-runs.ts";
import type { Classifiers } from "./load-classifiers.ts";

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
