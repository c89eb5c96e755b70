import type { Classifier, ClassifierSubject, Judged, Judgement } from "../classifier.ts";

export interface FakeClassifier extends Classifier {
  /** The texts that it has judged, in order. */
  readonly subjects: readonly ClassifierSubject[];
  readonly closed: boolean;
}

export interface FakeClassifierOptions {
  readonly name?: string;
  /** Default: finds nothing. A promise is awaited as long as it takes; what it rejects with is thrown. */
  readonly judge?: (subject: ClassifierSubject, signal: AbortSignal) => Judgement | Promise<Judgement>;
}

/** A classifier without an outside. */
export function createFakeClassifier({
  name = "fake",
  judge = () => judged(),
}: FakeClassifierOptions = {}): FakeClassifier {
  const subjects: ClassifierSubject[] = [];
  let closed = false;
  return {
    name,
    subjects,
    get closed() {
      return closed;
    },
    async classify(subject, signal) {
      signal.throwIfAborted();
      subjects.push(subject);
      return judge(subject, signal);
    },
    async close() {
      closed = true;
    },
  };
}

export function judged({ flagged = [], scores = {} }: Partial<Omit<Judged, "kind">> = {}): Judged {
  return { kind: "judged", flagged, scores };
}
