/** A `Blob` or a `File`. */
export interface BlobLike {
  readonly size: number;
  readonly type: string;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** A `ReadableStream` of bytes. */
export interface ByteStream {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/** What can be uploaded. Chunks that come one by one are read as they are sent, and are never in memory as a whole. */
export type BlobContent = BlobLike | ArrayBuffer | Uint8Array | ByteStream | AsyncIterable<Uint8Array>;

export interface Part {
  readonly bytes: ArrayBuffer;
  /** Where it begins in the content. */
  readonly offset: number;
  readonly isLast: boolean;
}

/** How long it is; undefined for what comes chunk by chunk. */
export function lengthOf(content: BlobContent): number | undefined {
  if ("size" in content) return content.size;
  return "byteLength" in content ? content.byteLength : undefined;
}

/**
 * A content in parts of this many bytes, the last of them shorter, or empty where there is none at all. Holds two parts at most, and the chunk
 * that it was given.
 */
export async function* partsOf(
  content: BlobContent,
  partBytes: number,
): AsyncGenerator<Part, void, undefined> {
  let part = new Uint8Array(partBytes);
  let filled = 0;
  let offset = 0;
  for await (const chunk of chunksOf(content, partBytes)) {
    for (let from = 0; from < chunk.length;) {
      // A full part is handed out once there is more: so the last one is known.
      if (filled === partBytes) {
        yield { bytes: part.buffer, offset, isLast: false };
        offset += filled;
        [part, filled] = [new Uint8Array(partBytes), 0];
      }
      const piece = chunk.subarray(from, from + partBytes - filled);
      part.set(piece, filled);
      filled += piece.length;
      from += piece.length;
    }
  }
  yield { bytes: part.buffer.slice(0, filled), offset, isLast: true };
}

async function* chunksOf(content: BlobContent, partBytes: number): AsyncGenerator<Uint8Array> {
  if ("slice" in content && "size" in content)
    for (let at = 0; at < content.size; at += partBytes)
      yield new Uint8Array(await content.slice(at, at + partBytes).arrayBuffer());
  else if (content instanceof ArrayBuffer) yield new Uint8Array(content);
  else if (content instanceof Uint8Array) yield content;
  else if ("getReader" in content) yield* read(content);
  else yield* content;
}

/** Browsers can't iterate a stream yet. One that is not read to its end is cancelled. */
async function* read(stream: ByteStream): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isOver = done;
      if (!value) return;
      yield value;
    }
  } finally {
    if (!isOver) await reader.cancel().catch(() => {});
  }
}
