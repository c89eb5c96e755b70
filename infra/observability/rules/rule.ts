/** Rules as Prometheus reads them. */
export type RecordingRule = {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
};

export type AlertingRule = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

export type RuleGroup = {
  readonly name: string;
  readonly interval: string;
  readonly rules: readonly (RecordingRule | AlertingRule)[];
};

/** Interval between evaluations of the rules. */
export const INTERVAL_S = 30;
