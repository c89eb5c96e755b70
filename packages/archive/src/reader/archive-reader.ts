import {
  decodeInput,
  decodeOpsRecord,
  decodeVerdict,
  generationNotFound,
  type GenerationRef,
  type InputRecord,
  type OpsRecord,
  peekSeq,
  RepriseError,
  type Verdict,
  type Seq,
  plus,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import {
  type ArchivedMessage,
  type Segment,
  SEGMENT_KINDS,
  type SegmentKind,
} from "../segment/segment-header.ts";
import { type LogEvent, LogOutline } from "./log-outline.ts";
import { type LogLayout, layOutLog, type SeqRange, type Stretch } from "./log-layout.ts";
import { LruCache } from "../store/lru-cache.ts";
import { type PlacedSegment, SegmentReader, type SegmentReaderOptions } from "./segment-reader.ts";

/** A record of an input log, and when the broker stored it: microseconds since 1970. */
export interface StoredInput extends InputRecord {
  readonly storedAtUs: number;
}

/** Outlines that are kept: they cost a pass over the log. */
const KNOWN_OUTLINES = 256;

/** Reads the archived data of single generations. All methods reject with RepriseError `archive_unavailable` and `archive_corrupt`. */
export class ArchiveReader {
  readonly #segments: SegmentReader;
  readonly #outlines = new LruCache<LogOutline>(KNOWN_OUTLINES);

  constructor(options: SegmentReaderOptions) {
    this.#segments = new SegmentReader(options);
  }

  /** When the keys of a generation were destroyed, ISO 8601; undefined while they were not. */
  erasedAt({ tenant, generation }: GenerationRef): string | undefined {
    return this.#segments.erasures(tenant).generations.get(generation);
  }

  /** Where what is kept of a generation lies, in the order in which it was stored. Needs no key. */
  segmentsOf(ref: GenerationRef, kinds: readonly SegmentKind[] = SEGMENT_KINDS): Promise<PlacedSegment[]> {
    return this.#segments.find(ref, kinds);
  }

  /** A segment as it is stored: what its leaf is the hash of. */
  sealedSegment(segment: PlacedSegment): Promise<Segment> {
    return this.#segments.read(segment);
  }

  /**
   * Returns the layout of the log, and its missing parts. Needs no key.
   * @throws RepriseError `generation_not_found` when nothing of it is archived
   */
  async logOf(ref: GenerationRef): Promise<LogLayout<PlacedSegment>> {
    const segments = await this.#segments.find(ref, ["log"]);
    if (segments.length === 0) throw generationNotFound();
    return layOutLog(segments, ({ header }) => header);
  }

  /**
   * The log as it was written, from an event on, one segment in memory at a time. It never passes over an event: where one is missing
   * it ends with `cursor_expired`; `logOf` says so beforehand. Whether the archive has lost it, or never had it, is found by verification.
   * @throws RepriseError `generation_not_found`, `generation_erased`
   */
  async *events(
    ref: GenerationRef,
    { fromSeq = REQUEST_SEQ, layout }: { fromSeq?: Seq; layout?: LogLayout<PlacedSegment> } = {},
  ): AsyncGenerator<LogEvent> {
    const { stretches } = layout ?? (await this.logOf(ref));
    let next = fromSeq;
    for (const stretch of stretches) {
      if (stretch.toSeq < next) continue;
      if (stretch.fromSeq > next) {
        throw new RepriseError(
          "cursor_expired",
          `Events ${next} to ${stretch.fromSeq - 1} of ${ref.generation} are not in the archive.`,
        );
      }
      yield* eventsOf(stretch, next, await this.#segments.open(stretch.segment));
      next = plus(stretch.toSeq, 1);
    }
  }

  /**
   * Returns the outline of the log, from one pass over all of it that is archived. Cached until more of the log is archived.
   * @throws RepriseError `generation_not_found`, `generation_erased`
   */
  async outlineOf(ref: GenerationRef, layout?: LogLayout<PlacedSegment>): Promise<LogOutline> {
    const known = layout ?? (await this.logOf(ref));
    // A log that was laid out has a stretch: `logOf` throws where there is no segment.
    const name = `${ref.tenant}/${ref.generation}/${nameOf(known.stretches.at(-1)!)}`;
    const present = this.#outlines.get(name);
    if (present) return present;
    const outline = await LogOutline.of(this.#eventsOf(known));
    this.#outlines.set(name, outline);
    return outline;
  }

  /** All that there are, with those missing between them left out. */
  async *#eventsOf({ stretches }: LogLayout<PlacedSegment>): AsyncGenerator<LogEvent> {
    for (const stretch of stretches)
      yield* eventsOf(stretch, stretch.fromSeq, await this.#segments.open(stretch.segment));
  }

  /**
   * Yields the records of the input log that are archived, as they were stored; none if it has none.
   * @throws RepriseError `generation_erased`
   */
  async *inputOf(ref: GenerationRef): AsyncGenerator<StoredInput> {
    let last: Seq = REQUEST_SEQ;
    for (const segment of await this.#segments.find(ref, ["input"])) {
      for (const { payload, storedAtUs } of await this.#segments.open(segment)) {
        const record = decodeInput(payload);
        // A store that has lost its end gets the same entries again.
        if (record.seq <= last) continue;
        last = record.seq;
        yield { ...record, storedAtUs };
      }
    }
  }

  /**
   * Returns the first missing entries before the last one that is archived; undefined if none are missing.
   * @throws RepriseError `generation_erased`
   */
  async inputHoleOf(ref: GenerationRef): Promise<SeqRange | undefined> {
    let next = plus(REQUEST_SEQ, 1);
    for await (const { first, seq } of this.inputOf(ref)) {
      if (first > next) return { fromSeq: next, toSeq: plus(first, -1) };
      next = plus(seq, 1);
    }
    return undefined;
  }

  /**
   * Yields the operational records about the generation, oldest first. Other messages are left out. For an erased generation, only
   * the records of accesses are left.
   * @throws RepriseError `generation_erased` when it is erased meanwhile
   */
  async *opsOf(ref: GenerationRef): AsyncGenerator<OpsRecord> {
    const kinds: SegmentKind[] = this.erasedAt(ref) === undefined ? ["ops", "access"] : ["access"];
    for (const segment of await this.#segments.find(ref, kinds)) {
      for (const { payload } of await this.#segments.open(segment)) {
        const record = decodeOpsRecord(payload);
        if (record) yield record;
      }
    }
  }

  /**
   * The last verdict; undefined where there is none.
   * @throws RepriseError `generation_erased`
   */
  async verdictOf(ref: GenerationRef): Promise<Verdict | undefined> {
    const last = (await this.#segments.find(ref, ["verdict"])).at(-1);
    const message = last && (await this.#segments.open(last)).at(-1);
    return message && decodeVerdict(message.payload);
  }
}

function* eventsOf(
  { segment: { header }, toSeq }: Stretch<PlacedSegment>,
  fromSeq: Seq,
  messages: readonly ArchivedMessage[],
): Generator<LogEvent> {
  for (let seq = fromSeq; seq <= toSeq; seq++) {
    const message = messages[seq - header.first_seq];
    if (!message || peekSeq(message.payload) !== seq)
      throw archiveCorrupt(`Event ${seq} of ${header.generation} is not in its place.`);
    yield { seq, ...message };
  }
}

function nameOf({ segment, toSeq }: Stretch<PlacedSegment>): string {
  return `${segment.header.nonce}-${toSeq}`;
}
