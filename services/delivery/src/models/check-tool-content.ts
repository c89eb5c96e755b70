import { type GenerationLog } from "@reprise/stream";
import {
  type GenerationRef,
  generationNotFound,
  isBlobId,
  isMediaPart,
  LIMITS,
  needsOf,
  RepriseError,
  type ToolContent,
  type ServedBy,
} from "@reprise/protocol";
import { toRequested } from "../domain/to-requested.ts";
import { assertTold, withTold, type ModelWorkers } from "./check-request.ts";
import { type RequestBlobs, withoutBlobs } from "./request-blobs.ts";

export interface ToolContentPorts {
  readonly log: GenerationLog;
  /** Undefined: this node has no blobs. */
  readonly blobs: Pick<RequestBlobs, "use"> | undefined;
  readonly fleet: ModelWorkers;
  readonly servedBy: (model: string) => ServedBy | undefined;
}

type CheckContext = Pick<ToolContentPorts, "log" | "blobs" | "servedBy" | "fleet">;

/**
 * Refuses parts of a tool's answer that the model, or a worker of an earlier version, can't be given, and renews the time of the blobs that they name.
 * @throws RepriseError `capability_unsupported`, `request_unsupported`; `blob_not_found` for another tenant's and another end user's blob too;
 *   `invalid_request` where a blob is not of its part's kind, or all of them are too large; `generation_not_found`, `broker_unavailable`
 */
export async function checkToolContent(
  { log, blobs, servedBy, fleet }: CheckContext,
  ref: GenerationRef,
  content: ToolContent,
): Promise<void> {
  const first = await log.reader.readFirst(ref);
  if (!first) throw generationNotFound();
  const { request, policy } = toRequested(first.payload);
  const told = await fleet.capabilitiesOf(request.model);
  const known = servedBy(request.model);
  const can = known && withTold(known, told).capabilities;
  const needs = needsOf({ ...request, input: [{ role: "tool", call_id: "answer", content }] });
  for (const { capability, param } of needs) {
    if (!param.startsWith(ROOT) || !can || can.has(capability)) continue;
    const at = param.slice(ROOT.length);
    const message = `${at}: the model "${request.model}" does not have the capability ${capability}.`;
    throw new RepriseError("capability_unsupported", message, { param: at });
  }
  assertTold(told.map((capabilities) => (capabilities?.includes("tool_content") ? capabilities : undefined)));
  let bytes = 0;
  for (const [i, part] of content.entries()) {
    if (!isMediaPart(part) || !isBlobId(part.blob)) continue;
    const param = `content.${i}.blob`;
    const forMs = policy.timeouts.total.after_ms;
    if (!blobs) throw withoutBlobs(param);
    const row = await blobs.use(ref.tenant, part.blob, { forMs, endUser: request.end_user });
    if (!row) throw new RepriseError("blob_not_found", `${param}: there is no blob with this id.`, { param });
    if (part.type !== "file" && !row.type.startsWith(`${part.type}/`))
      throw new RepriseError("invalid_request", `${param}: is ${row.type}, and not ${part.type}/….`, {
        param,
      });
    bytes += row.bytes;
  }
  if (bytes <= LIMITS.mediaBytes) return;
  const message = `content: names ${bytes} bytes of blobs; the limit is ${LIMITS.mediaBytes}.`;
  throw new RepriseError("invalid_request", message, { param: "content" });
}

/** Where the parts are in the request that they would be of. */
const ROOT = "input.0.";
