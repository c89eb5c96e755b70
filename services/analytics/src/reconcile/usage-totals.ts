import type { GenerationRow, UsageData } from "@reprise/metering";

export type UsageRecord = "archive" | "rows" | "usage_files";

/** What generations of one tenant and model have used, by one record of it. */
export interface UsageTotal {
  readonly tenant: string;
  readonly model: string;
  readonly record: UsageRecord;
  generations: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  output_tokens_kept: number;
  reasoning_tokens: number;
}

type Counted = Pick<
  GenerationRow & UsageData,
  | "input_tokens"
  | "cached_input_tokens"
  | "output_tokens"
  | "output_tokens_kept"
  | "reasoning_tokens"
  | "requested_model"
> & { readonly model: string | null };

export class UsageTotals {
  readonly #totals = new Map<string, UsageTotal>();

  add(record: UsageRecord, tenant: string, used: Counted): void {
    const model = used.model ?? used.requested_model;
    const key = JSON.stringify([tenant, model, record]);
    let total = this.#totals.get(key);
    if (!total) {
      const nothing = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, output_tokens_kept: 0 };
      total = { tenant, model, record, generations: 0, ...nothing, reasoning_tokens: 0 };
      this.#totals.set(key, total);
    }
    total.generations++;
    total.input_tokens += used.input_tokens ?? 0;
    total.cached_input_tokens += used.cached_input_tokens ?? 0;
    total.output_tokens += used.output_tokens;
    total.output_tokens_kept += used.output_tokens_kept;
    total.reasoning_tokens += used.reasoning_tokens ?? 0;
  }

  /** By tenant, model and record. */
  list(): UsageTotal[] {
    return [...this.#totals].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total);
  }
}
