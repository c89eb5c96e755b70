import { createHash } from "node:crypto";
import type { LanePosition, LaneStart } from "@reprise/lane";
import type { EncodedFold, GenerationRow } from "@reprise/metering";
import { RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";
import type { CommitDraft, LaneFacts, OpenFolds } from "../lane-facts.ts";
import type { Postgres } from "./postgres.ts";
import type { QueryOutcome, RunQuery } from "./run-query.ts";
import { toArrays, unnestRows } from "./row-values.ts";
import { columnsOf, type FactTable } from "../tables/fact-table.ts";
import { encodeJsonArray } from "../encode-json.ts";

interface StoredCommit {
  readonly n: number;
  readonly lane: LanePosition;
}

/** Where an epoch begins, if not behind the last commit. */
interface Beginning {
  /** Of the commits before it, the newest that still counts, or -1. */
  readonly kept: number;
  /** Whether generations that were open there go on. */
  readonly goesOn: boolean;
}

/**
 * Folds can be restored at each of so many of the newest commits, and at every one whose number this divides. Between those, versions of folds that have changed since are deleted.
 */
const COMMITS_PER_CHECKPOINT = 720;
const PAGE = 500;
const ROWS_PER_STATEMENT = 2_000;
const FOLDS_PER_STATEMENT = 500;

const LANE = "n, epoch, created, last, last_seq_stored, last_at";

export interface PostgresLaneOptions<Row> {
  readonly postgres: Postgres;
  readonly table: FactTable<Row>;
  readonly stream: string;
  readonly checkpointEvery?: number | undefined;
}

/**
 * One stream's commits in PostgreSQL. A commit is one transaction. Its number is the fence: no other transaction inserts the same, and none whose predecessor is missing.
 *
 * A fold has a version for each commit that has changed it, so that what was open at an earlier commit can be read where the stream loses its end. What a new epoch supersedes is
 * marked by its first commit, in the same transaction.
 */
export class PostgresLaneFacts<Row = GenerationRow, Fold = EncodedFold> implements LaneFacts<Row, Fold> {
  readonly #postgres: Postgres;
  readonly #table: FactTable<Row>;
  readonly #stream: string;
  readonly #checkpointEvery: number;
  #last: StoredCommit | undefined;
  #beginning: Beginning | undefined;

  constructor({
    postgres,
    table,
    stream,
    checkpointEvery = COMMITS_PER_CHECKPOINT,
  }: PostgresLaneOptions<Row>) {
    this.#postgres = postgres;
    this.#table = table;
    this.#stream = stream;
    this.#checkpointEvery = checkpointEvery;
  }

  get position(): LanePosition | undefined {
    return this.#last?.lane;
  }

  async last(): Promise<LanePosition | undefined> {
    const sql = `select ${LANE} from reprise_analytics.commits where stream = $1 order by n desc limit 1`;
    const { rows } = await this.#postgres.transaction((run) => run(sql, [this.#stream]));
    this.#last = rows[0] && toCommit(this.#stream, rows[0]);
    return this.#last?.lane;
  }

  async *all(): AsyncIterable<LanePosition> {
    const last = this.#last;
    if (!last) return;
    const sql = `
      select ${LANE} from reprise_analytics.commits
      where stream = $1 and not is_superseded and n <= $2 and (n > $3 or n % $4 = 0)
      order by n desc limit $5`;
    const recent = last.n - this.#checkpointEvery;
    for (let next = last.n; ;) {
      const values = [this.#stream, next, recent, this.#checkpointEvery, PAGE];
      const { rows } = await this.#postgres.transaction((run) => run(sql, values));
      for (const row of rows) {
        const { n, lane } = toCommit(this.#stream, row);
        if (lane.created !== last.lane.created) return;
        yield { ...lane, epoch: last.lane.epoch };
        next = n - 1;
      }
      if (rows.length < PAGE) return;
    }
  }

  async restore({ epoch, created, after }: LaneStart): Promise<OpenFolds<Fold>> {
    const last = this.#last;
    this.#beginning = undefined;
    if (!last) return new Map();
    if (last.lane.epoch === epoch) return this.#postgres.transaction((run) => this.#foldsAt(run, last.n));
    // A stream that was made anew takes nothing back, and nothing goes on in it.
    this.#beginning = { kept: last.n, goesOn: false };
    if (last.lane.created !== created) return new Map();
    return this.#postgres.transaction(async (run) => {
      const beginning = await this.#keptUpTo(run, last, after);
      this.#beginning = beginning;
      return beginning.goesOn ? this.#foldsAt(run, beginning.kept) : new Map();
    });
  }

  async commit(draft: CommitDraft<Row, Fold>): Promise<"committed" | "fenced"> {
    const n = (this.#last?.n ?? -1) + 1;
    const digest = await digestOf(n, draft);
    const outcome = await this.#postgres.transaction(async (run) => {
      if ((await this.#insertCommit(run, { n, lane: draft.lane }, digest)) === 0)
        return this.#outcomeOf(run, n, digest);
      if (this.#beginning) await this.#begin(run, n, this.#beginning);
      await this.#changeFolds(run, n, draft);
      await this.#insertRows(run, n, draft.rows);
      await this.#dropVersions(run, n - this.#checkpointEvery);
      return "committed";
    });
    if (outcome === "fenced") return outcome;
    this.#last = { n, lane: draft.lane };
    this.#beginning = undefined;
    return outcome;
  }

  /** So many in a statement that what makes it is a short turn. */
  async #insertRows(run: RunQuery, n: number, rows: readonly Row[]): Promise<void> {
    const table = this.#table;
    const { values, from } = unnestRows(table, 4);
    const sql = `
      insert into reprise_analytics.${table.name} (stream, commit_n, commit_i, ${columnsOf(table)})
      select $1, $2, $3 + r.i, ${values} from ${from}`;
    for (let first = 0; first < rows.length; first += ROWS_PER_STATEMENT) {
      const some = rows.slice(first, first + ROWS_PER_STATEMENT);
      await run(sql, [this.#stream, n, first, ...toArrays(table, some)]);
    }
  }

  async #insertCommit(run: RunQuery, { n, lane }: StoredCommit, digest: string): Promise<number> {
    const sql = `
      insert into reprise_analytics.commits (stream, ${LANE}, digest)
      select $1, $2::bigint, $3, $4, $5, $6, $7, $8
      where $2 = 0 or exists (select from reprise_analytics.commits where stream = $1 and n = $2 - 1)
      on conflict do nothing`;
    const { epoch, created, last, last_seq_stored, last_at } = lane;
    const values = [this.#stream, n, epoch, created, last, last_seq_stored, last_at, digest];
    return (await run(sql, values)).rowCount;
  }

  /** Of a commit that can't be inserted. An earlier try of this process may have, without an answer. */
  async #outcomeOf(run: RunQuery, n: number, digest: string): Promise<"committed" | "fenced"> {
    const sql = `select digest from reprise_analytics.commits where stream = $1 and n = $2`;
    const { rows } = await run(sql, [this.#stream, n]);
    if (rows[0]) return rows[0]["digest"] === digest ? "committed" : "fenced";
    throw new RepriseError(
      "archive_corrupt",
      `PostgreSQL has lost commit ${n - 1} of ${this.#stream}; the lane begins again behind what it still has.`,
    );
  }

  async #begin(run: RunQuery, n: number, { kept, goesOn }: Beginning): Promise<void> {
    const of = [this.#stream, kept];
    await run(
      `update reprise_analytics.commits set is_superseded = true where stream = $1 and n > $2 and n < $3`,
      [...of, n],
    );
    await run(
      `update reprise_analytics.${this.#table.name} set is_superseded = true
       where stream = $1 and commit_n > $2 and commit_n < $3`,
      [...of, n],
    );
    await run(`delete from reprise_analytics.folds where stream = $1 and from_n > $2`, of);
    await run(`update reprise_analytics.folds set until_n = null where stream = $1 and until_n > $2`, of);
    if (goesOn) return;
    await run(`update reprise_analytics.folds set until_n = $2 where stream = $1 and until_n is null`, [
      this.#stream,
      n,
    ]);
  }

  async #changeFolds(run: RunQuery, n: number, { changed, closed }: CommitDraft<Row, Fold>): Promise<void> {
    const subjects = changed.map(([subject]) => subject);
    if (subjects.length + closed.length > 0)
      await run(
        `update reprise_analytics.folds set until_n = $2
         where stream = $1 and until_n is null and subject = any($3::text[])`,
        [this.#stream, n, [...subjects, ...closed]],
      );
    for (let first = 0; first < changed.length; first += FOLDS_PER_STATEMENT) {
      const some = changed.slice(first, first + FOLDS_PER_STATEMENT);
      await run(
        `insert into reprise_analytics.folds (stream, subject, from_n, fold)
         select $1, subject, $2, fold from unnest($3::text[], $4::text[]) as f(subject, fold)`,
        [this.#stream, n, some.map(([subject]) => subject), some.map(([, fold]) => JSON.stringify(fold))],
      );
    }
  }

  /** Versions that a commit has ended, but for those that were open at a checkpoint. */
  async #dropVersions(run: RunQuery, n: number): Promise<void> {
    await run(
      `delete from reprise_analytics.folds
       where stream = $1 and until_n = $2 and (until_n - 1) / $3 * $3 < from_n`,
      [this.#stream, n, this.#checkpointEvery],
    );
  }

  async #foldsAt(run: RunQuery, n: number): Promise<OpenFolds<Fold>> {
    const sql = `
      select subject, fold from reprise_analytics.folds
      where stream = $1 and from_n <= $2 and (until_n is null or until_n > $2)`;
    const { rows } = await run(sql, [this.#stream, n]);
    return new Map(rows.map(({ subject, fold }) => [String(subject), JSON.parse(String(fold)) as Fold]));
  }

  /** The newest commit that counts and ends at a place; without one, the newest of an earlier stream of this name. */
  async #keptUpTo(run: RunQuery, { n, lane }: StoredCommit, after: StreamSeq): Promise<Beginning> {
    const sql = `
      select coalesce(max(n) filter (where created <> $3), -1) as earlier,
        coalesce(max(n) filter (where created = $3 and last = $4), -1) as place
      from reprise_analytics.commits where stream = $1 and n <= $2 and not is_superseded`;
    const { rows } = await run(sql, [this.#stream, n, lane.created, after]);
    const [earlier, place] = [Number(rows[0]?.["earlier"]), Number(rows[0]?.["place"])];
    const goesOn = after !== STREAM_START && place > earlier;
    return { kept: goesOn ? place : earlier, goesOn };
  }
}

/** Of what a commit says, so that a repeated one is known. */
async function digestOf(n: number, { lane, rows, changed, closed }: CommitDraft<unknown, unknown>) {
  const hash = createHash("sha256").update(JSON.stringify([n, lane, closed]));
  for (const items of [rows, changed]) for await (const piece of encodeJsonArray(items)) hash.update(piece);
  return hash.digest("hex");
}

function toCommit(stream: string, row: QueryOutcome["rows"][number]): StoredCommit {
  const lane = {
    stream,
    epoch: Number(row["epoch"]),
    created: String(row["created"]),
    last: Number(row["last"]) as StreamSeq,
    last_seq_stored: Number(row["last_seq_stored"]) as StreamSeq,
    last_at: Number(row["last_at"]),
  };
  return { n: Number(row["n"]), lane };
}
