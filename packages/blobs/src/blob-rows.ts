import {
  type BlobRow,
  BLOBS_STREAM,
  BLOBS_SUBJECTS,
  decodeBlobRow,
  encodeBlobRow,
  plus,
  STREAM_START,
  type StreamSeq,
} from "@reprise/protocol";
import { purgeSubject, readLastRaw } from "@reprise/broker";
import { askPatiently, readAllPatiently, type RowBroker, storeAfter } from "@reprise/stream";

/** A row of BLOBS as its leader has it. */
export interface PlacedRow<Row extends BlobRow = BlobRow> {
  /** Undefined where there is none, or none that this process can read. */
  readonly row: Row | undefined;
  /** Where the subject's last message lies; `STREAM_START` for none. */
  readonly at: StreamSeq;
}

export interface ListedRow {
  readonly subject: string;
  readonly row: BlobRow;
  readonly at: StreamSeq;
  readonly storedAtUs: number;
}

const BATCH = { maxMessages: 256, maxBytes: 256 * 1_024 };

/** Rows of BLOBS: each is changed by compare-and-set. All methods ask again for the broker's budget, and throw RepriseError `broker_unavailable` then. */
export class BlobRows {
  readonly #broker: RowBroker;

  constructor(broker: RowBroker) {
    this.#broker = broker;
  }

  async read(subject: string): Promise<PlacedRow> {
    const last = await askPatiently(this.#broker, () =>
      readLastRaw(this.#broker.reads, BLOBS_STREAM, subject),
    );
    if (!last) return { row: undefined, at: STREAM_START };
    return { row: last.isPublished ? decodeBlobRow(last.payload) : undefined, at: last.streamSeq };
  }

  /** @returns where it lies; undefined where the row has changed since it was read */
  write(subject: string, row: BlobRow, expectedLast: StreamSeq): Promise<StreamSeq | undefined> {
    const payload = encodeBlobRow(row);
    return storeAfter(this.#broker, { stream: BLOBS_STREAM, subject, payload, expectedLast });
  }

  /** Takes a row away that lies there, and none that came later. */
  remove(subject: string, at: StreamSeq): Promise<void> {
    return askPatiently(this.#broker, () =>
      purgeSubject(this.#broker.reads, BLOBS_STREAM, subject, plus(at, 1)),
    );
  }

  /** All rows, or those under a subject with wildcards. One that changes meanwhile may come twice. */
  async *list(subject: string = BLOBS_SUBJECTS): AsyncGenerator<ListedRow> {
    const request = { ...BATCH, afterStreamSeq: STREAM_START, subject };
    const { reads } = this.#broker;
    for await (const message of readAllPatiently(this.#broker, reads, BLOBS_STREAM, request)) {
      const row = decodeBlobRow(message.payload);
      const { streamSeq: at, storedAtUs } = message;
      if (row) yield { subject: message.subject, row, at, storedAtUs };
    }
  }
}
