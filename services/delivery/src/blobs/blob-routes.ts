import { blobs } from "@reprise/log";
import {
  BLOB_LIMITS,
  blobNotFound,
  END_USER_RULE,
  isEndUser,
  LIMITS,
  parseBlobId,
  parseMediaType,
  parseUploadId,
  parseWith,
  RepriseError,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import type { RouteContext } from "../routes/context.ts";
import { ownEndUser } from "../http/own-end-user.ts";
import { integerParam, noQuery } from "../routes/query-params.ts";
import {
  announceUpload,
  blobPath,
  contentHeaders,
  newUploadLimit,
  toBlob,
  standing,
  uploadHeaders,
  uploadPath,
} from "./blob-answers.ts";
import { receiveBody } from "./receive-body.ts";
import { sendContent } from "./send-content.ts";
import {
  contentLength,
  PARTIAL_UPLOAD,
  uploadComplete,
  uploadLength,
  uploadOffset,
} from "./upload-headers.ts";

/** The paths of blobs, and what each allows. */
export const BLOB_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/blobs": ["POST"],
  "/v1/blobs/:id": ["GET", "HEAD", "DELETE"],
  "/v1/uploads/:id": ["HEAD", "PATCH", "DELETE"],
};

const createQuery = z.strictObject({
  subject: z.string().min(1).max(LIMITS.subjectLength).optional(),
  end_user: z.string().refine(isEndUser, { error: END_USER_RULE }).optional(),
  ttl_seconds: integerParam(BLOB_LIMITS.leastTtlSeconds, BLOB_LIMITS.ttlSeconds).optional(),
});

const config = { roles: ["blob"] } as const;
const streaming = { roles: ["blob"], streamsBody: true } as const;
const uploading = { ...streaming, endUserTokens: "create" } as const;
const reading = { ...config, endUserTokens: "read" } as const;

type WithId = { Params: { id: string } };

/**
 * Uploads, reads and deletes blobs. A body may be of any type here, and is read by its route: so these routes have a scope of their own.
 */
export function addBlobRoutes(app: FastifyInstance, context: RouteContext): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, done) => done(null));
    addUploadRoutes(scope, context);
    addContentRoutes(scope, context);
  });
}

function addUploadRoutes(app: FastifyInstance, context: RouteContext): void {
  const { authentication } = context;
  const { storage, transfers, ttlSeconds, metrics, record, onError } = context.blobs;

  app.post("/v1/blobs", { config: uploading }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { tenant } = principal;
    const query = parseWith(createQuery, request.query, "query");
    const endUser = ownEndUser(principal, query.end_user);
    const isComplete = uploadComplete(request);
    if (principal.tokenId !== undefined && isComplete !== undefined)
      throw new RepriseError("forbidden", "Upload-Complete: a stream token can't resume an upload.", {
        param: "Upload-Complete",
      });
    const length = uploadLength(request) ?? (isComplete === false ? undefined : contentLength(request));
    const maxBytes = principal.limits?.blobs?.blob_bytes ?? BLOB_LIMITS.blobBytes;
    using _ = transfers.take(tenant);
    void reply.header("upload-limit", newUploadLimit(maxBytes));
    const upload = await blobs.beginUpload(storage, tenant, {
      type: parseMediaType(request.headers["content-type"]),
      length,
      maxBytes,
      quotaBytes: principal.limits?.blobs?.bytes ?? BLOB_LIMITS.tenantBytes,
      by: principal.holder,
      subject: query.subject,
      endUser,
      ttlSeconds: query.ttl_seconds ?? ttlSeconds,
    });
    const isResumable = isComplete !== undefined;
    if (isResumable) announceUpload(reply, upload);
    const place = await storage.chunks.place(blobs.refOf(upload));
    return go([request, reply], { principal, upload, place, isResumable, isComplete: isComplete ?? true });
  });

  app.patch<WithId>("/v1/uploads/:id", { config: streaming }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { tenant } = principal;
    parseWith(noQuery, request.query, "query");
    if (request.headers["content-type"] !== PARTIAL_UPLOAD)
      throw new RepriseError("unsupported_media_type", `Content-Type must be ${PARTIAL_UPLOAD}.`, {
        param: "Content-Type",
      });
    const offset = uploadOffset(request);
    const isComplete = uploadComplete(request);
    if (isComplete === undefined)
      throw new RepriseError("invalid_request", "Upload-Complete is missing.", { param: "Upload-Complete" });
    using _ = transfers.take(tenant);
    const upload = await blobs.findUpload(storage, tenant, parseUploadId(request.params.id));
    const { place, blob } = await blobs.placeOf(storage, upload);
    if (place.bytes !== offset || (place.isSealed && !isComplete)) {
      void reply.headers(standing(upload, { place, blob }));
      const message = blob
        ? `The upload is finished: it has ${place.bytes} bytes.`
        : `The upload is at ${place.bytes} bytes, and not at ${offset}.`;
      throw new RepriseError("upload_conflict", message, { param: "Upload-Offset" });
    }
    assertRoom(upload, offset + (contentLength(request) ?? 0));
    return go([request, reply], { principal, upload, place, isResumable: true, isComplete });
  });

  app.head<WithId>("/v1/uploads/:id", { config }, async (request, reply) => {
    const { tenant } = authentication.principalOf(request);
    const upload = await blobs.findUpload(storage, tenant, parseUploadId(request.params.id));
    void reply.headers(standing(upload, await blobs.placeOf(storage, upload)));
    return reply.code(204).send();
  });

  app.delete<WithId>("/v1/uploads/:id", { config }, async (request, reply) => {
    const { tenant } = authentication.principalOf(request);
    const { row } = await blobs.findUpload(storage, tenant, parseUploadId(request.params.id));
    await blobs.abandonUpload(storage, tenant, row.id);
    return reply.code(204).send();
  });

  interface Going {
    readonly principal: Principal;
    readonly upload: blobs.OpenUpload;
    readonly place: blobs.ChunkPlace;
    /** Whether the client knows where its upload is. */
    readonly isResumable: boolean;
    readonly isComplete: boolean;
  }

  async function go(
    [request, reply]: readonly [FastifyRequest, FastifyReply],
    { principal, upload, place, isResumable, isComplete }: Going,
  ): Promise<FastifyReply> {
    const { tenant, row } = upload;
    try {
      const received = await receiveBody(storage, upload, place, request);
      metrics.received(received.place.bytes - place.bytes);
      if (!isComplete) {
        const headers = uploadHeaders(upload, { offset: received.place.bytes, isComplete: false });
        void reply.headers({ ...headers, location: uploadPath(upload) });
        return await reply.code(request.method === "POST" ? 201 : 204).send();
      }
      // A body may take a minute, and a key may be revoked meanwhile.
      authentication.readmit(request);
      const { blob, isNew } = await blobs.finishUpload(storage, upload, received.sum);
      metrics.finished(isNew ? "stored" : "joined");
      await record(principal, blob, isNew ? "stored" : "joined");
      void reply.headers({ location: blobPath(blob), "upload-complete": "?1" });
      return await reply.code(isNew ? 201 : 200).send(toBlob(blob));
    } catch (error) {
      const mayGoOn = isResumable && error instanceof RepriseError && goesOn(error, request);
      if (mayGoOn) {
        metrics.finished("cut");
        if (error.code === "upload_conflict") await tellPlace(reply, upload);
      } else {
        metrics.finished("refused");
        // A sweep takes what this does not.
        await blobs.abandonUpload(storage, tenant, row.id).catch(onError);
      }
      throw error;
    }
  }

  /** With a refusal for another request's sake; without it the client asks. */
  async function tellPlace(reply: FastifyReply, { tenant, row }: blobs.OpenUpload): Promise<void> {
    try {
      const upload = await blobs.findUpload(storage, tenant, row.id);
      void reply.headers(standing(upload, await blobs.placeOf(storage, upload)));
    } catch (error) {
      onError(error);
    }
  }
}

/** @throws RepriseError `body_too_large` */
function assertRoom({ row }: blobs.OpenUpload, bytes: number): void {
  if (bytes <= row.max_bytes) return;
  const message = `The upload may have ${row.max_bytes} bytes, and would have ${bytes} with this request.`;
  throw new RepriseError("body_too_large", message, { param: "body" });
}

/** Whether a client may ask where its upload stands after this, and send the rest. */
function goesOn({ code, param }: RepriseError, { method }: FastifyRequest): boolean {
  if (GOES_ON.has(code)) return true;
  // The client knows where its upload is: what was wrong with one request leaves it as it was, but for content that can't be of its type.
  return (
    method === "PATCH" &&
    (code === "body_too_large" || (code === "invalid_request" && param !== "Content-Type"))
  );
}

const GOES_ON: ReadonlySet<string> = new Set([
  "connection_lost",
  "upload_conflict",
  "broker_unavailable",
  "archive_unavailable",
]);

function addContentRoutes(app: FastifyInstance, context: RouteContext): void {
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
