import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { NamedFile, RequestBody } from "../request/request-body.ts";

/** What a file of this subtype is called that has no name: servers tell the kinds by it. */
const ENDINGS: Readonly<Record<string, string>> = { plain: "txt", markdown: "md", "octet-stream": "bin" };

/** The form of an upload to `POST /files`. The file is read while it is sent, a chunk or two at a time. */
export function toFileForm({ media, name }: NamedFile): RequestBody {
  const boundary = `reprise-${randomBytes(16).toString("hex")}`;
  const disposition = "content-disposition: form-data; name=";
  const head = Buffer.from(
    [
      `--${boundary}`,
      `${disposition}"purpose"`,
      "",
      "user_data",
      `--${boundary}`,
      `${disposition}"file"; filename="${escapeName(name ?? defaultName(media.type))}"`,
      `content-type: ${media.type}`,
      "",
      "",
    ].join("\r\n"),
  );
  const foot = Buffer.from(`\r\n--${boundary}--\r\n`);
  const write = async function* () {
    yield head;
    // The piece's memory may be used again.
    for await (const piece of media.read()) yield Buffer.from(piece);
    yield foot;
  };
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: head.length + media.bytes + foot.length,
    open: () => Readable.from(write(), { highWaterMark: 1 }),
  };
}

function defaultName(type: string): string {
  const [, subtype = ""] = type.split("/");
  return `file.${ENDINGS[subtype] ?? (/^[a-z0-9]+$/.test(subtype) ? subtype : "bin")}`;
}

/** As browsers do. */
function escapeName(name: string): string {
  return name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}
