import { type GenerationRow, toUsageEvent } from "@reprise/metering";
import {
  type GenerationRef,
  isGenerationId,
  isTenantId,
  parseGenerationId,
  parseTenantId,
  RepriseError,
  streamOf,
  type TenantId,
} from "@reprise/protocol";
import type { RowSource } from "../facts/row-source.ts";
import type { Archived, ArchivedGenerations } from "./archived-generations.ts";
import { compareRows, compareUsage, type Difference, type DifferenceKind } from "./difference.ts";
import { type TimeWindow, TimeWindows } from "./time-windows.ts";
import { type FoundUsage, readUsageFiles } from "./usage-files.ts";
import { type UsageTotal, UsageTotals } from "./usage-totals.ts";

export interface ReconcileOptions {
  readonly archived: ArchivedGenerations;
  readonly rows: RowSource;
  /** Of the file sink; undefined compares no usage files. */
  readonly usageDir: string | undefined;
  /** How far each record has come. Read before anything else is. */
  readonly reach: Reach;
  /** By when generations ended. */
  readonly range: TimeWindow;
  /** Undefined: all. */
  readonly tenant: TenantId | undefined;
  readonly onDifference: (difference: Difference) => void;
  /** Generations that are compared at a time, and held in memory. Default 20,000. */
  readonly mostAtATime?: number;
}

/** Of a stream: generations that ended then or later may not be in the record yet. Microseconds since 1970; undefined where the record has nothing of the stream. */
export interface Reach {
  archive(stream: string): number | undefined;
  rows(stream: string): number | undefined;
  usageFiles(stream: string): number | undefined;
}

export type NotCompared =
  | "running"
  | "erased"
  | "deleted_by_retention"
  | "not_archived_yet"
  | "no_row_yet"
  | "not_delivered_yet";

export interface Reconciliation {
  /** Generations whose numbers were computed from the archive and compared. */
  readonly compared: number;
  readonly differences: number;
  readonly notCompared: Readonly<Record<NotCompared, number>>;
  /** Of what was compared. */
  readonly totals: readonly UsageTotal[];
}

const MOST_AT_A_TIME = 20_000;
/** Logs that are read at a time. */
const LOGS_AT_A_TIME = 8;
const DAY_CHARS = "2026-11-23".length;
/** A usage event's time has milliseconds. */
const MS_US = 1_000;

/**
 * Computes what generations have used from the archive, and compares it with analytics' rows and with usage files. Reads only. Generations are compared in windows of time by when they ended,
 * so what is in memory is one window's.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`; `invalid_request` for a tenant that no record has
 */
export async function reconcile(options: ReconcileOptions): Promise<Reconciliation> {
  const run = new Run(options);
  for (const window of await run.windows()) await run.compare(window);
  return await run.finish();
}

class Run {
  readonly #options: ReconcileOptions;
  readonly #totals = new UsageTotals();
  readonly #notCompared: Record<NotCompared, number> = {
    running: 0,
    erased: 0,
    deleted_by_retention: 0,
    not_archived_yet: 0,
    no_row_yet: 0,
    not_delivered_yet: 0,
  };
  /** Ends of logs whose clock was set back: they count as later than their segment says. */
  #late: GenerationRow[] = [];
  #compared = 0;
  #differences = 0;
  /** Whether any record has a row or an event of what was asked for. */
  #hasFound = false;

  constructor(options: ReconcileOptions) {
    this.#options = options;
  }

  async windows(): Promise<TimeWindow[]> {
    const { archived, rows, range, tenant, mostAtATime = MOST_AT_A_TIME } = this.#options;
    const windows = new TimeWindows(range);
    await rows.read({ tenant, ...range }, () => ({ add: ({ ended_us: endedUs }) => windows.add(endedUs) }));
    for (const one of this.#tenants())
      for await (const { lastUs } of archived.ends(one, range)) windows.add(lastUs);
    return windows.divide(mostAtATime);
  }

  async compare(window: TimeWindow): Promise<void> {
    const { archived, rows: source, tenant } = this.#options;
    const isWithin = (endedUs: number) => endedUs >= window.fromUs && endedUs < window.toUs;
    const rows = await source.read({ tenant, ...window }, () => new RowsByGeneration());
    const events = await this.#eventsIn(window);
    this.#hasFound ||= rows.size + events.size > 0;
    const late = this.#late.filter(({ ended_us: endedUs }) => endedUs < window.toUs);
    this.#late = this.#late.filter(({ ended_us: endedUs }) => endedUs >= window.toUs);
    for await (const [ref, found] of this.#read(late.map(refOf), rows, events))
      this.#compareOne(ref, found, rows.take(ref), events.take(ref));
    for (const one of this.#tenants()) {
      const ends = new Map<string, number>();
      for await (const { generation, lastUs } of archived.ends(one, window))
        ends.set(generation, Math.max(lastUs, ends.get(generation) ?? 0));
      const refs = [...ends.keys()].flatMap((generation) => toRefs({ tenant: one, generation }));
      for await (const [ref, found] of this.#read(refs, rows, events)) {
        const row = found.kind === "ended" ? found.row : undefined;
        if (!row || isWithin(row.ended_us)) this.#compareOne(ref, found, rows.take(ref), events.take(ref));
        // What overlaps the next window is found again there.
        else if (row.ended_us >= window.toUs && (ends.get(ref.generation) ?? 0) < window.toUs)
          this.#late.push(row);
      }
    }
    await this.#compareLeft(rows, events, isWithin);
  }

  /** Rows and events without an end in the archive at that time. */
  async #compareLeft(
    rows: RowsByGeneration,
    events: EventsByGeneration,
    isWithin: (endedUs: number) => boolean,
  ): Promise<void> {
    const left = [...rows.left(), ...events.left(rows)];
    for (const one of left)
      if (toRefs(one).length === 0) this.#differ(one, "missing_in_archive", one.endedUs);
    for await (const [ref, found] of this.#read(left.flatMap(toRefs), rows, events)) {
      const [ofRef, event] = [rows.take(ref), events.take(ref)];
      if (found.kind !== "ended" || isWithin(found.row.ended_us)) this.#compareOne(ref, found, ofRef, event);
      else {
        // The window of its end finds what is missing there.
        for (const row of ofRef) this.#compareRow(ref, found.row, row);
        if (event) this.#compareEvent(ref, found.row, event);
      }
    }
  }

  async *#read(
    refs: readonly GenerationRef[],
    rows: RowsByGeneration,
    events: EventsByGeneration,
  ): AsyncGenerator<readonly [GenerationRef, Archived]> {
    for (let from = 0; from < refs.length; from += LOGS_AT_A_TIME) {
      const some = refs.slice(from, from + LOGS_AT_A_TIME);
      yield* await Promise.all(
        some.map(async (ref) => {
          // Which keys are measured is a setting, which the records alone tell.
          const { metadata } = rows.of(ref)[0] ?? events.of(ref)?.usage ?? {};
          const keys = Object.keys(metadata ?? {});
          return [ref, await this.#options.archived.read(ref, keys)] as const;
        }),
      );
    }
  }

  async finish(): Promise<Reconciliation> {
    const { archived, range, tenant: asked } = this.#options;
    if (asked !== undefined && !this.#hasFound && this.#tenants().length === 0)
      throw new RepriseError(
        "invalid_request",
        `Neither the archive nor rows nor usage files have a generation of tenant ${asked}.`,
      );
    for (const tenant of this.#tenants()) this.#notCompared.running += await archived.running(tenant, range);
    return {
      compared: this.#compared,
      differences: this.#differences,
      notCompared: this.#notCompared,
      totals: this.#totals.list(),
    };
  }

  #tenants(): string[] {
    const { archived, tenant } = this.#options;
    return archived.tenants().filter((one) => tenant === undefined || one === tenant);
  }

  async #eventsIn(window: TimeWindow): Promise<EventsByGeneration> {
    const { usageDir, tenant } = this.#options;
    const events = new EventsByGeneration();
    if (usageDir === undefined) return events;
    for await (const found of readUsageFiles(usageDir, window))
      if (tenant === undefined || found.event.subject === tenant) events.add(found);
    return events;
  }

  #compareOne(
    ref: GenerationRef,
    archived: Archived,
    rows: readonly GenerationRow[],
    event: FoundUsage | undefined,
  ): void {
    const [row] = rows;
    if (rows.length > 1) this.#differ(ref, "twice_in_rows", row?.ended_us);
    if (archived.kind === "ended") return this.#compareEnded(ref, archived.row, row, event);
    const endedUs = row?.ended_us ?? event?.endedUs;
    if (archived.kind === "erased") this.#notCompared.erased++;
    else if (archived.kind === "incomplete") this.#differ(ref, "incomplete_in_archive", endedUs);
    else if (endedUs !== undefined) this.#missingInArchive(ref, endedUs, row?.created_us ?? endedUs);
  }

  #missingInArchive(ref: GenerationRef, endedUs: number, createdUs: number): void {
    const { archived, reach } = this.#options;
    const deleted = archived.deletedDays(ref.tenant);
    if (endedUs >= (reach.archive(streamOf(ref.generation)) ?? 0)) this.#notCompared.not_archived_yet++;
    else if (deleted.has(dayOf(endedUs)) || deleted.has(dayOf(createdUs)))
      this.#notCompared.deleted_by_retention++;
    else this.#differ(ref, "missing_in_archive", endedUs);
  }

  #compareEnded(
    ref: GenerationRef,
    archived: GenerationRow,
    row: GenerationRow | undefined,
    event: FoundUsage | undefined,
  ): void {
    const { reach, usageDir } = this.#options;
    const stream = streamOf(ref.generation);
    const endedUs = archived.ended_us;
    if (!row && endedUs >= (reach.rows(stream) ?? 0)) {
      this.#notCompared.no_row_yet++;
      return;
    }
    this.#compared++;
    this.#totals.add("archive", ref.tenant, archived);
    if (row) {
      this.#totals.add("rows", ref.tenant, row);
      this.#compareRow(ref, archived, row);
    } else this.#differ(ref, "missing_in_rows", endedUs);
    if (usageDir === undefined) return;
    if (event) {
      if (event.usage) this.#totals.add("usage_files", ref.tenant, event.usage);
      this.#compareEvent(ref, archived, event);
    } else if (endedUs >= (reach.usageFiles(stream) ?? 0)) this.#notCompared.not_delivered_yet++;
    else this.#differ(ref, "missing_in_usage_files", endedUs);
  }

  #compareRow(ref: GenerationRef, archived: GenerationRow, row: GenerationRow): void {
    const fields = compareRows(archived, row);
    if (fields) this.#differ(ref, "different_in_rows", archived.ended_us, fields);
  }

  #compareEvent(ref: GenerationRef, archived: GenerationRow, { event }: FoundUsage): void {
    const fields = compareUsage(toUsageEvent(archived, { source: event.source }), event);
    if (fields) this.#differ(ref, "different_in_usage_files", archived.ended_us, fields);
  }

  #differ(
    { tenant, generation }: Named,
    kind: DifferenceKind,
    endedUs?: number,
    fields?: Difference["fields"],
  ): void {
    this.#differences++;
    this.#options.onDifference({
      kind,
      tenant,
      generation,
      ...(endedUs !== undefined && { ended_at: toTime(endedUs) }),
      ...(fields && { fields }),
    });
  }
}

/** Rows of one window, until they are compared. */
class RowsByGeneration {
  readonly #rows = new Map<string, GenerationRow[]>();

  get size(): number {
    return this.#rows.size;
  }

  add(row: GenerationRow): void {
    const key = keyOf(row);
    const others = this.#rows.get(key);
    if (others) others.push(row);
    else this.#rows.set(key, [row]);
  }

  of(ref: Named): readonly GenerationRow[] {
    return this.#rows.get(keyOf(ref)) ?? [];
  }

  take(ref: Named): readonly GenerationRow[] {
    const rows = this.of(ref);
    this.#rows.delete(keyOf(ref));
    return rows;
  }

  left(): (Named & { endedUs: number })[] {
    return [...this.#rows.values()].flatMap(([row]) => (row ? [{ ...row, endedUs: row.ended_us }] : []));
  }
}

/** Usage events of one window. A meter keeps the first of several with one id. */
class EventsByGeneration {
  readonly #events = new Map<string, FoundUsage>();

  get size(): number {
    return this.#events.size;
  }

  add(found: FoundUsage): void {
    const key = keyOf({ tenant: found.event.subject, generation: found.event.id });
    if (!this.#events.has(key)) this.#events.set(key, found);
  }

  of(ref: Named): FoundUsage | undefined {
    return this.#events.get(keyOf(ref));
  }

  take(ref: Named) {
    const found = this.#events.get(keyOf(ref));
    this.#events.delete(keyOf(ref));
    return found;
  }

  left(rows: RowsByGeneration): (Named & { endedUs: number })[] {
    return [...this.#events.values()]
      .map(({ event, endedUs }) => ({ tenant: event.subject, generation: event.id, endedUs }))
      .filter((one) => rows.of(one).length === 0);
  }
}

/** As a record names it, which may have been tampered with. */
interface Named {
  readonly tenant: string;
  readonly generation: string;
}

function keyOf({ tenant, generation }: Named): string {
  return `${tenant} ${generation}`;
}

/** None for names that no generation has. */
function toRefs({ tenant, generation }: Named): GenerationRef[] {
  return isTenantId(tenant) && isGenerationId(generation) ? [{ tenant, generation }] : [];
}

function refOf({ tenant, generation }: GenerationRow): GenerationRef {
  return { tenant: parseTenantId(tenant), generation: parseGenerationId(generation) };
}

function toTime(us: number): string {
  return new Date(Math.floor(us / MS_US)).toISOString();
}

function dayOf(us: number): string {
  return toTime(us).slice(0, DAY_CHARS);
}
