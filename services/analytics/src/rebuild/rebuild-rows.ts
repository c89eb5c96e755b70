import type { LanePosition } from "@reprise/facts/lane";
import type { GenerationFold, EncodedFold, GenerationRow } from "@reprise/facts";
import {
  generationsStream,
  type GenerationRef,
  isGenerationId,
  logSubject,
  parseTenantId,
  RepriseError,
  streamOf,
} from "@reprise/protocol";
import type { FactStore } from "../facts/fact-store.ts";
import type { LaneFacts } from "../facts/commit-facts.ts";
import type { ArchivedGenerations } from "../rebuild/archived-generations.ts";

export interface RebuildOptions {
  readonly archived: ArchivedGenerations;
  /** Up to where the archive has each stream, as it was opened. */
  readonly lanes: ReadonlyMap<string, LanePosition>;
  /** An empty store. */
  readonly facts: FactStore;
  /** Keys of requests' metadata that rows have. */
  readonly keys: readonly string[];
}

export interface Rebuilt {
  readonly rows: number;
  /** Running generations: their folds hold what the archive has of their logs. */
  readonly open: number;
  /** Generations without a row, as the archive lacks a part of them. */
  readonly left: number;
}

const ROWS_PER_COMMIT = 5_000;

/**
 * Writes the rows of all archived generations and sets each lane to the archive's place; analytics continues from there with the live log. The caller marks the store afterwards, so
 * analytics refuses a store whose rebuild was interrupted.
 * @throws RepriseError `config_invalid` for a store that has commits; `archive_unavailable`, `archive_corrupt`
 */
export async function rebuildRows({ archived, lanes, facts, keys }: RebuildOptions): Promise<Rebuilt> {
  const isLog = (stream: string) => stream.startsWith(generationsStream(0).slice(0, -1));
  const rebuilding = new Map<string, RebuiltLane>();
  for (const [stream, place] of lanes) {
    if (!isLog(stream)) continue;
    const lane = facts.lane(stream);
    if (await lane.last())
      throw new RepriseError("config_invalid", `The store has rows of ${stream}: name an empty one.`);
    rebuilding.set(stream, new RebuiltLane(lane, place));
  }
  let left = 0;
  for (const tenant of archived.tenants()) {
    for (const generation of await archived.generations(tenant)) {
      if (!isGenerationId(generation)) continue;
      const ref = { tenant: parseTenantId(tenant), generation };
      const lane = rebuilding.get(streamOf(generation));
      const read = lane && (await archived.fold(ref, keys, lane.place.last_at));
      if (read === undefined) left++;
      else if (read.hasEnded) await lane?.add(read.toRow());
      else lane?.goesOn(ref, read);
    }
  }
  let [rows, open] = [0, 0];
  for (const lane of rebuilding.values()) {
    await lane.finish();
    rows += lane.rows;
    open += lane.open;
  }
  return { rows, open, left };
}

/** The commits of one stream, in a store that has none. */
class RebuiltLane {
  readonly place: LanePosition;
  readonly #facts: LaneFacts;
  readonly #folds: (readonly [string, EncodedFold])[] = [];
  #rows: GenerationRow[] = [];
  rows = 0;

  constructor(facts: LaneFacts, { stream, epoch, created, last, last_seq_stored, last_at }: LanePosition) {
    this.#facts = facts;
    this.place = { stream, epoch, created, last, last_seq_stored, last_at };
  }

  get open(): number {
    return this.#folds.length;
  }

  async add(row: GenerationRow): Promise<void> {
    this.#rows.push(row);
    this.rows++;
    if (this.#rows.length >= ROWS_PER_COMMIT) await this.#commit([]);
  }

  goesOn(ref: GenerationRef, fold: GenerationFold): void {
    this.#folds.push([logSubject(ref), fold.encode()]);
  }

  finish(): Promise<void> {
    return this.#commit(this.#folds);
  }

  async #commit(changed: readonly (readonly [string, EncodedFold])[]): Promise<void> {
    const draft = { lane: this.place, rows: this.#rows, changed, closed: [] };
    const outcome = await this.#facts.commit(draft, () => changed);
    if (outcome === "fenced")
      throw new RepriseError(
        "config_invalid",
        `Another process writes rows of ${this.place.stream} to this store.`,
      );
    this.#rows = [];
  }
}
