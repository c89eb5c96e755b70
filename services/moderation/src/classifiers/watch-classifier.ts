import type { DependencyWatch, Metrics } from "@reprise/runtime";
import type { Classifier, Judgement } from "./classifier.ts";

export interface ClassifierWatching {
  readonly watch: DependencyWatch;
  readonly metrics: Metrics;
}

/** The same classifier, whose watch and metrics know of each answer. A window that it was not asked about says nothing of it. */
export function watchClassifier(classifier: Classifier, { watch, metrics }: ClassifierWatching): Classifier {
  const labels = { classifier: classifier.name };
  const seconds = metrics.histogram("reprise_classifier_seconds");
  const failures = metrics.counter("reprise_classifier_failures_total");
  const isOpen = metrics.gauge("reprise_classifier_open");
  failures.inc(labels, 0);
  isOpen.set(labels, 0);
  const note = (judgement: Judgement, ms: number) => {
    const reason = judgement.kind === "unjudged" ? judgement.reason : undefined;
    isOpen.set(labels, Number(reason === "open"));
    if (reason === "open") return;
    seconds.observe(labels, ms / 1_000);
    if (judgement.kind === "judged" || reason === "invalid") return watch.worked();
    failures.inc(labels);
    watch.failed([reason, judgement.detail].filter((word) => word !== undefined).join(": "));
  };
  return {
    name: classifier.name,
    async classify(subject, signal) {
      const askedAtMs = performance.now();
      const judgement = await classifier.classify(subject, signal);
      note(judgement, performance.now() - askedAtMs);
      return judgement;
    },
    close: () => classifier.close(),
  };
}
