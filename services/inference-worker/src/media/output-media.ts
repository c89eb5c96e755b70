import * as blobs from "@reprise/blobs";
import { type Publish, recordOps } from "@reprise/broker";
import {
  BLOB_LIMITS,
  BLOB_TTL_SECONDS,
  type BlobRecord,
  type EventDraft,
  type GenerationRef,
  type RequestedEvent,
  mediaTypeOf,
  RepriseError,
} from "@reprise/protocol";
import { EngineError } from "../engines/engine-error.ts";
import type { MediaPieceEvent } from "../engines/engine.ts";

/** The owner and the limits of a generation's blobs, from its request. */
export interface OutputOwner {
  readonly subject: string | undefined;
  readonly endUser: string | undefined;
  readonly maxBytes: number;
  readonly quotaBytes: number;
  readonly ttlSeconds: number;
}

/** Without the request, which may be a megabyte. */
export function toOutputOwner({ request, blobs: limits = {} }: RequestedEvent): OutputOwner {
  return {
    subject: request.subject,
    endUser: request.end_user,
    maxBytes: limits.max_bytes ?? BLOB_LIMITS.blobBytes,
    quotaBytes: limits.quota_bytes ?? BLOB_LIMITS.tenantBytes,
    ttlSeconds: limits.ttl_seconds ?? BLOB_TTL_SECONDS,
  };
}

export interface OutputMediaOptions {
  readonly storage: blobs.BlobStorage;
  /** Has auditors told of each blob. */
  readonly publish: Publish;
  readonly ref: GenerationRef;
  readonly owner: OutputOwner;
  readonly onError: (error: unknown) => void;
}

type Kind = MediaPieceEvent["kind"];
interface Open {
  readonly upload: blobs.OpenUpload;
  readonly writer: blobs.ChunkWriter;
}

/** Whose key it came with, where it came with none. */
const BY = "inference-worker";
const ANY = "application/octet-stream";

/**
 * Stores the media that a model makes in one turn while they arrive: memory holds only a piece and a chunk. A content is stored as a blob of the
 * generation's subject and end user before any event names it, so readers can always fetch it. A content that is incomplete at the end of the turn is
 * discarded. A worker that dies may leave an upload, which the sweep of blobs removes.
 */
export class OutputMedia implements AsyncDisposable {
  readonly #options: OutputMediaOptions;
  readonly #open = new Map<Kind, Open>();

  constructor(options: OutputMediaOptions) {
    this.#options = options;
  }

  /**
   * @returns the event to append, after the last piece of a content
   * @throws RepriseError `limit_exceeded` if it is larger than a blob of the tenant may be, or the tenant has no room for it; `broker_unavailable`;
   *   EngineError `engine_failed` if the content is not of its kind, or empty
   */
  async take(piece: MediaPieceEvent): Promise<EventDraft | undefined> {
    const { storage } = this.#options;
    const { kind, bytes, isLast } = piece;
    const open = this.#open.get(kind) ?? (await this.#begin(piece));
    try {
      await open.writer.write(bytes);
      if (!isLast) return undefined;
      await open.writer.flush();
      const sum = open.writer.sum();
      // Before it is a blob.
      if (!mediaTypeOf(open.upload.row.type, sum.head).startsWith(`${kind}/`)) throw notOfItsKind(kind);
      const { blob } = await blobs.finishUpload(storage, open.upload, sum);
      this.#open.delete(kind);
      await this.#record(blob);
      return { type: "output.blob", kind, blob: blob.id, media_type: blob.type, bytes: blob.bytes };
    } catch (error) {
      throw toTurnError(error, kind, this.#options.owner);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { storage, ref, onError } = this.#options;
    for (const { upload } of this.#open.values())
      await blobs.abandonUpload(storage, ref.tenant, upload.row.id).catch(onError);
  }

  /** Before the event that names it. A record that can't be stored in time does not undo what was made. */
  async #record({ id, sha256, bytes, type }: BlobRecord): Promise<void> {
    const { publish, ref, onError } = this.#options;
    const at = new Date().toISOString();
    const record = { kind: "blob", at, by: BY, call: "stored", blob: id, sha256, bytes, type } as const;
    await recordOps(publish, ref, record).catch(onError);
  }

  async #begin({ kind, mediaType, bytes, isLast }: MediaPieceEvent): Promise<Open> {
    const { storage, ref, owner } = this.#options;
    if (isLast && bytes.length > owner.maxBytes) throw tooLarge(owner.maxBytes);
    const upload = await blobs.beginUpload(storage, ref.tenant, {
      ...owner,
      // An engine may be wrong about which image it is, and not about whether it is one.
      type: kind === "image" && mediaType !== "image/svg+xml" ? ANY : mediaType,
      length: isLast ? bytes.length : undefined,
      by: BY,
      generation: ref.generation,
    });
    const open = { upload, writer: blobs.createWriter(storage, upload) };
    this.#open.set(kind, open);
    return open;
  }
}

function toTurnError(error: unknown, kind: Kind, { maxBytes }: OutputOwner): unknown {
  if (!(error instanceof RepriseError)) return error;
  // Written for clients that upload.
  if (error.code === "body_too_large") return tooLarge(maxBytes);
  return error.code === "invalid_request" ? notOfItsKind(kind) : error;
}

function tooLarge(maxBytes: number): RepriseError {
  const message = `What the model makes is larger than ${maxBytes} bytes, the most that a blob of the tenant may have.`;
  return new RepriseError("limit_exceeded", message, { param: "blobs.blob_bytes" });
}

function notOfItsKind(kind: Kind): EngineError {
  const message = `The engine sent content that is no ${kind}.`;
  return new EngineError("engine_failed", message, { retry: "never" });
}
