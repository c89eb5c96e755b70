import { RepriseError } from "../errors/reprise-error.ts";
import { BLOB_LIMITS } from "./blob-limits.ts";

/*
 * Finds a blob's type by its first bytes. Formats that begin with bytes of their own are told by these; what has no such beginning can be
 * text, where its beginning is UTF-8 without control characters, or anything.
 */

/** Bytes at the beginning that are examined. */
export const SNIFFED_BYTES = 4_096;

type Mark = readonly (readonly [at: number, text: string])[];

const marks: readonly (readonly [type: string, mark: Mark])[] = [
  ["image/png", [[0, "\x89PNG\r\n\x1a\n"]]],
  ["image/jpeg", [[0, "\xff\xd8\xff"]]],
  ["image/gif", [[0, "GIF87a"]]],
  ["image/gif", [[0, "GIF89a"]]],
  [
    "image/webp",
    [
      [0, "RIFF"],
      [8, "WEBP"],
    ],
  ],
  [
    "image/bmp",
    [
      [0, "BM"],
      [6, "\0\0\0\0"],
    ],
  ],
  ["image/tiff", [[0, "II*\0"]]],
  ["image/tiff", [[0, "MM\0*"]]],
  ["image/avif", [[4, "ftypavif"]]],
  ["image/heic", [[4, "ftypheic"]]],
  [
    "audio/wav",
    [
      [0, "RIFF"],
      [8, "WAVE"],
    ],
  ],
  ["audio/flac", [[0, "fLaC"]]],
  ["audio/ogg", [[0, "OggS"]]],
  ["audio/mpeg", [[0, "ID3"]]],
  ["audio/mpeg", [[0, "\xff\xfb"]]],
  ["audio/mpeg", [[0, "\xff\xf3"]]],
  ["audio/mpeg", [[0, "\xff\xf2"]]],
  ["audio/aac", [[0, "\xff\xf1"]]],
  ["audio/aac", [[0, "\xff\xf9"]]],
  ["video/webm", [[0, "\x1aE\xdf\xa3"]]],
  ["video/mp4", [[4, "ftyp"]]],
  ["application/pdf", [[0, "%PDF-"]]],
  ["application/zip", [[0, "PK\x03\x04"]]],
  ["application/zip", [[0, "PK\x05\x06"]]],
  ["application/gzip", [[0, "\x1f\x8b\x08"]]],
  ["application/zstd", [[0, "\x28\xb5\x2f\xfd"]]],
  ["application/x-executable", [[0, "\x7fELF"]]],
  ["application/wasm", [[0, "\0asm"]]],
];

/** Names of the same, and types whose files have the same beginning. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  "image/jpeg": ["image/jpg"],
  "audio/wav": ["audio/x-wav", "audio/wave", "audio/vnd.wave"],
  "audio/flac": ["audio/x-flac"],
  "audio/ogg": ["video/ogg", "application/ogg", "audio/opus"],
  "audio/mpeg": ["audio/mp3"],
  "video/webm": ["audio/webm", "video/x-matroska", "audio/x-matroska"],
  "video/mp4": ["audio/mp4", "audio/m4a", "audio/x-m4a", "video/quicktime"],
  "image/heic": ["image/heif"],
  "application/zip": [
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/epub+zip",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
  ],
  "application/gzip": ["application/x-gzip"],
};

const ANY = "application/octet-stream";
const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/;
/** Kinds whose every format has a beginning of its own: what has none is not of them. */
const MARKED = /^(?:image|audio|video)\//;
/** Formats of text among those. */
const UNMARKED = new Set(["image/svg+xml"]);
/** Samples without a header, which may begin like anything. */
const SAMPLES = new Set(["audio/basic", "audio/pcm", "audio/l16"]);
const TEXT = /^(?:text\/|application\/(?:json|xml|yaml|toml|javascript|x-ndjson|sql)$|.*\+(?:json|xml)$)/;

/**
 * The type of a `Content-Type`, in lower case and without its parameters.
 * @throws RepriseError `invalid_request`
 */
export function parseMediaType(header: string | undefined): string {
  const type = (header ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (TYPE.test(type) && type.length <= BLOB_LIMITS.typeLength) return type;
  throw new RepriseError("invalid_request", "A blob needs a Content-Type, such as image/png.", {
    param: "Content-Type",
  });
}

/**
 * The type that a blob has: what its client declares, where the content may be that; what the content begins like, where the client declares
 * `application/octet-stream`.
 * @param head the first `SNIFFED_BYTES` of the content, or all of it
 * @throws RepriseError `invalid_request` where the content is not of the declared type
 */
export function mediaTypeOf(declared: string, head: Uint8Array): string {
  if (SAMPLES.has(declared)) return declared;
  const found = sniff(head);
  // Words may begin like a file of another kind.
  if (TEXT.test(declared) && isText(head)) return declared;
  if (declared === ANY) return found ?? ANY;
  if (found === undefined) {
    const isMarked =
      declared === "application/pdf" || declared === "application/zip" || MARKED.test(declared);
    if (isMarked && !UNMARKED.has(declared)) throw mismatch(declared, "something else");
    if (TEXT.test(declared)) throw mismatch(declared, "no text in UTF-8");
    return declared;
  }
  if (found === declared || SAME[found]?.includes(declared)) return declared;
  throw mismatch(declared, found);
}

function mismatch(declared: string, found: string): RepriseError {
  return new RepriseError("invalid_request", `The content is ${found}, and not ${declared}.`, {
    param: "Content-Type",
  });
}

/** Undefined where the beginning tells nothing. */
function sniff(head: Uint8Array): string | undefined {
  return marks.find(([, mark]) => mark.every(([at, text]) => hasAt(head, at, text)))?.[0];
}

function hasAt(head: Uint8Array, at: number, text: string): boolean {
  if (head.length < at + text.length) return false;
  for (let i = 0; i < text.length; i++) if (head[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Control characters that no text has. */
// oxlint-disable-next-line no-control-regex
const BINARY = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

function isText(head: Uint8Array): boolean {
  try {
    // The last character may be cut.
    return !BINARY.test(new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true }));
  } catch {
    return false;
  }
}
