import { unixNow } from "@reprise/protocol";
import { EngineError } from "../../engine-error.ts";
import { toStatusError } from "../errors/status-error.ts";
import { tryJson } from "../response/try-json.ts";
import type { Upstream, UpstreamAnswer } from "../upstream.ts";
import type { NamedFile } from "../request/request-body.ts";
import { toFileForm } from "./file-form.ts";

export type FilesUpstream = Pick<Upstream, "post" | "get" | "remove">;

export interface UploadOptions {
  readonly signal: AbortSignal;
  /** Called with the status of a refusal that is the server's, and not the file's. */
  readonly onRefused: (status: number) => void;
}

const MAX_ANSWER_BYTES = 64 * 1_024;
/** It goes into paths. */
const FILE_ID = /^[A-Za-z0-9][\w.:-]{0,255}$/;

/**
 * @returns what the server calls the file
 * @throws EngineError as `Upstream.post`, and `engine_rejected` where the server refuses the file; what reading the file fails with; the signal's reason
 */
export async function uploadFile(
  upstream: Pick<Upstream, "post">,
  file: NamedFile,
  { signal, onRefused }: UploadOptions,
): Promise<string> {
  const answer = await upstream.post("/files", toFileForm(file), { signal, accept: "application/json" });
  let isWhole = false;
  try {
    const { status } = answer;
    if (status < 200 || status >= 300) {
      // One that has no files is as good as others for all other requests.
      if (status !== 404) onRefused(status);
      throw await toStatusError(answer, unixNow(), " to the upload of a file");
    }
    const text = await readText(answer);
    isWhole = text !== undefined;
    const said = tryJson(text ?? "");
    const id = typeof said === "object" && said !== null && "id" in said ? said.id : undefined;
    if (typeof id === "string" && FILE_ID.test(id)) return id;
    throw new EngineError("engine_failed", "The engine's answer to the upload of a file has no id.", {
      retry: "never",
    });
  } finally {
    answer.release(isWhole);
  }
}

/** Whether the server says that it has no such file. @throws EngineError as `Upstream.get`; the signal's reason */
export async function isUnknownFile(
  upstream: Pick<Upstream, "get">,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await upstream.get(`/files/${id}`, signal);
  answer.release(false);
  return answer.status === 404;
}

/** Whatever the server says to it. @throws EngineError as `Upstream.post`; the signal's reason */
export async function removeFile(
  upstream: Pick<Upstream, "remove">,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  (await upstream.remove(`/files/${id}`, signal)).release(false);
}

/** Undefined for more text than any answer has. */
async function readText({ body }: UpstreamAnswer): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
