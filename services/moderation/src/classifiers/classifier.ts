/** The text to judge: never stored, logged or quoted in an error. */
export interface ClassifierSubject {
  /** A window of what a model has said. */
  readonly input: string;
  /** The prompt of the model, for classifiers that judge an answer by its question. */
  readonly prompt?: string | undefined;
}

export interface Judged {
  readonly kind: "judged";
  /** The categories that the classifier itself flags, by its own names. */
  readonly flagged: readonly string[];
  /** 0 to 1 by category, those that are not flagged too where the classifier tells. */
  readonly scores: Readonly<Record<string, number>>;
}

/** `open`: not asked, for it has failed too often of late. `invalid`: it refused this input, or its answer makes no sense. */
export type UnjudgedReason = "timeout" | "unavailable" | "open" | "invalid";

export interface Unjudged {
  readonly kind: "unjudged";
  readonly reason: UnjudgedReason;
  /** For logs: a status, or a code of the system. Never holds text or keys. */
  readonly detail?: string;
}

export type Judgement = Judged | Unjudged;

/** Something outside that tells whether a text is harmful. */
export interface Classifier {
  readonly name: string;
  /**
   * Judges a text. External failures result in `unjudged`.
   * @throws the signal's reason, when that aborts; nothing else
   */
  classify(subject: ClassifierSubject, signal: AbortSignal): Promise<Judgement>;
  close(): Promise<void>;
}
