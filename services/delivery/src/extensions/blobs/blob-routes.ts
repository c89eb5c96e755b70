import type { NodeBlobs } from "./open-blobs.ts";
import type { Authentication } from "../../http/auth.ts";
import * as blobs from "@reprise/blobs";
import {
  BLOB_LIMITS,
  blobNotFound,
  END_USER_RULE,
  isEndUser,
  LIMITS,
  parseBlobId,
  parseMediaType,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { ownEndUser } from "../../http/own-end-user.ts";
import { integerParam, noQuery } from "../../http/query-params.ts";
import { blobPath, contentHeaders, toBlob, uploadLimit } from "./blob-answers.ts";
import { receiveBody } from "./receive-body.ts";
import { sendContent } from "./send-content.ts";

export interface BlobPorts {
  readonly authentication: Authentication;
  readonly blobs: NodeBlobs;
}

/** The paths of blobs, and what each allows. */
export const BLOB_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/blobs": ["POST"],
  "/v1/blobs/:id": ["GET", "HEAD", "DELETE"],
};

const createQuery = z.strictObject({
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  end_user: z.string().refine(isEndUser, { error: END_USER_RULE }).optional(),
  ttl_seconds: integerParam(BLOB_LIMITS.leastTtlSeconds, BLOB_LIMITS.ttlSeconds).optional(),
});

const config = { roles: ["blob"] } as const;
const uploading = { ...config, streamsBody: true, endUserTokens: "create" } as const;
const reading = { ...config, endUserTokens: "read" } as const;

type WithId = { Params: { id: string } };

/**
 * Uploads, reads and deletes blobs. A body may be of any type here, and is read by its route: so these routes have a scope of their own.
 */
export function addBlobRoutes(app: FastifyInstance, context: BlobPorts): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null));
    addUploadRoute(scope, context);
    addContentRoutes(scope, context);
  });
}

function addUploadRoute(app: FastifyInstance, context: BlobPorts): void {
  const { authentication } = context;
  const { storage, transfers, ttlSeconds, metrics, record, onError } = context.blobs;

  app.post("/v1/blobs", { config: uploading }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { tenant } = principal;
    const query = parseWith(createQuery, request.query, "query");
    const endUser = ownEndUser(principal, query.end_user);
    assertWholeUpload(request);
    const maxBytes = principal.limits?.blobs?.blob_bytes ?? BLOB_LIMITS.blobBytes;
    using _ = transfers.take(tenant);
    void reply.header("upload-limit", uploadLimit(maxBytes));
    const upload = await blobs.beginUpload(storage, tenant, {
      type: parseMediaType(request.headers["content-type"]),
      length: contentLength(request),
      maxBytes,
      quotaBytes: principal.limits?.blobs?.bytes ?? BLOB_LIMITS.tenantBytes,
      by: principal.holder,
      subject: query.subject,
      endUser,
      ttlSeconds: query.ttl_seconds ?? ttlSeconds,
    });
    try {
      const sum = await receiveBody(storage, upload, request);
      metrics.received(sum.bytes);
      // A body may take a minute, and a key may be revoked meanwhile.
      authentication.readmit(request);
      const { blob, isNew } = await blobs.finishUpload(storage, upload, sum);
      const call = isNew ? "stored" : "joined";
      metrics.finished(call);
      await record(principal, blob, call);
      void reply.headers({ location: blobPath(blob), "upload-complete": "?1" });
      return await reply.code(isNew ? 201 : 200).send(toBlob(blob));
    } catch (error) {
      metrics.finished("refused");
      // A sweep takes what this does not.
      await blobs.abandonUpload(storage, tenant, upload.row.id).catch(onError);
      throw error;
    }
  });
}

function addContentRoutes(app: FastifyInstance, context: BlobPorts): void {
  const { authentication } = context;
  const { storage, record } = context.blobs;
  const find = async (request: FastifyRequest<WithId>) => {
    const { tenant, endUser } = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const found = await blobs.findBlob(storage, tenant, parseBlobId(request.params.id));
    if (endUser !== undefined && found.row.end_user !== endUser) throw blobNotFound();
    return found;
  };

  app.get<WithId>("/v1/blobs/:id", { config: reading }, async (request, reply) => {
    const found = await find(request);
    return sendContent(reply, context.blobs, found);
  });

  app.head<WithId>("/v1/blobs/:id", { config: reading }, async (request, reply) => {
    const { row } = await find(request);
    return reply.headers(contentHeaders(row)).send();
  });

  app.delete<WithId>("/v1/blobs/:id", { config }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { row } = await find(request);
    const blob = await blobs.removeBlob(storage, principal.tenant, row.id);
    await record(principal, blob, "deleted");
    return reply.code(204).send();
  });
}

/** Returns the length of the request's body, if it says so. */
function contentLength({ headers }: FastifyRequest): number | undefined {
  const { "content-length": length, "transfer-encoding": encoding } = headers;
  return length === undefined || encoding !== undefined ? undefined : Number(length);
}

/**
 * A client of draft-ietf-httpbis-resumable-upload says `?0` if more requests will follow: a part would be taken for the whole.
 * @throws RepriseError `invalid_request`
 */
function assertWholeUpload({ headers }: FastifyRequest): void {
  if (headers["upload-complete"] !== "?0") return;
  throw new RepriseError("invalid_request", "Upload-Complete: an upload is one request.", {
    param: "Upload-Complete",
  });
}
