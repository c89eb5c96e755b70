/** The deliveries of one generation to its readers: a sum of its `DeliveryRow`s, as a query makes it. Durations are in microseconds; null: not measured. */
export interface GenerationDelivery {
  /** Streams, and answers that had events in one piece. */
  readonly streams: number;
  readonly answers: number;
  /** Streams that began after a cursor. */
  readonly resumes: number;
  /** Streams that were over before the generation was. */
  readonly disconnects: number;
  /** Streams that took the generation to its end. */
  readonly finished: number;
  /** Events that streams were handed, and those of them that the log had when the stream began. */
  readonly events: number;
  readonly replayed: number;
  /**
   * Times of the stream that was first to get the first output: from its store at the broker until its node had it, from then until it could be shown, and
   * until it was handed over.
   */
  readonly received_us: number | null;
  readonly held_us: number | null;
  readonly sent_us: number | null;
  /** Base64 of sketches, of each stream that has one; null where none has. */
  readonly gaps: readonly string[] | null;
  /** Times of the attempt that was first to produce output. */
  readonly engine_first_us: number | null;
  readonly append_us: number | null;
  /** The client's last report. */
  readonly round_trip_us: number | null;
  readonly first_text_us: number | null;
  readonly longest_gap_us: number | null;
  readonly reconnects: number | null;
}
