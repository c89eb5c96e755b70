import type { RequestNotes } from "../../telemetry/request-notes.ts";
import type { NodeBlobs } from "./open-blobs.ts";
import type { ReaderRegistry } from "../../readers/reader-registry.ts";
import type { Authentication } from "../../http/auth.ts";
import * as blobs from "@reprise/blobs";
import { type GenerationLog } from "@reprise/stream";
import { asSeq, blobNotFound, parseBlobId, parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { sendContent } from "./send-content.ts";
import { accessGeneration } from "../../domain/generation-access.ts";
import { readGeneration } from "../../domain/read-generation.ts";
import type { ReadSources } from "../../domain/shown-generation.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { recordFullResponse } from "../../readers/delivery-marks/record-full-response.ts";
import { noQuery } from "../../http/query-params.ts";

export interface OutputBlobPorts extends ReadSources {
  readonly authentication: Authentication;
  readonly log: GenerationLog;
  readonly readers: ReaderRegistry;
  readonly blobs: NodeBlobs;
  readonly notes: RequestNotes;
}

export const OUTPUT_BLOB_PATH = "/v1/generations/:id/blobs/:blob";

/**
 * Gives readers what a model has made beside words. What readers are shown of the generation says whether it is theirs: one that is held, was withdrawn or
 * rewound is answered like one that does not exist.
 */
export function addOutputBlobRoute(app: FastifyInstance, context: OutputBlobPorts): void {
  const { authentication, log } = context;
  app.get<{ Params: { id: string; blob: string } }>(
    OUTPUT_BLOB_PATH,
    { config: { roles: ["read"], streamTokens: true } },
    async (request, reply) => {
      const principal = authentication.principalOf(request);
      const caller = callerOf(request, principal);
      parseWith(noQuery, request.query, "query");
      const ref = await accessGeneration(log, principal, request.params.id);
      context.notes.add(request, { generation: ref.generation });
      const id = parseBlobId(request.params.blob);
      const { blobs: made = [] } = await readGeneration(context, ref);
      const shown = made.find(({ blob }) => blob === id);
      if (!shown) throw blobNotFound();
      const found = await blobs.findBlob(context.blobs.storage, ref.tenant, id);
      // Reading may have taken seconds.
      authentication.renewReader(principal, "read");
      const seq = asSeq(shown.seq);
      recordFullResponse(context, reply, { ref, caller, protocol: "snapshot", fromSeq: seq, lastSeq: seq });
      return sendContent(reply, context.blobs, found);
    },
  );
}
