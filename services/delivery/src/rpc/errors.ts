import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorBody, isErrorCode, type RepriseError, toErrorBody, toHttpStatus } from "@reprise/protocol";
import { type Problem, ProblemSchema } from "./generated/reprise/v1/reprise_pb.ts";

/** Names the cursor after which a stream that was broken off continues. */
const CURSOR_TRAILER = "reprise-cursor";

/** The one mapping from HTTP statuses to gRPC codes. */
export function toCode(status: number): Code {
  switch (status) {
    case 400:
    case 406:
    case 415:
      return Code.InvalidArgument;
    case 401:
      return Code.Unauthenticated;
    case 403:
      return Code.PermissionDenied;
    case 404:
    case 410:
      return Code.NotFound;
    case 405:
      return Code.Unimplemented;
    case 409:
    case 412:
      return Code.FailedPrecondition;
    case 413:
    case 429:
      return Code.ResourceExhausted;
    case 502:
    case 503:
      return Code.Unavailable;
    case 504:
      return Code.DeadlineExceeded;
    default:
      return Code.Internal;
  }
}

/** @param retryAfter the header of the answer */
export function parseProblem({ error }: ErrorBody, retryAfter?: unknown): Problem {
  const retryAfterS = retryAfter === undefined ? 0 : Number(retryAfter);
  const { code, message, param, retryable } = error;
  // A status is sent in a header, percent-encoded, where a half of a surrogate pair can't be.
  return create(ProblemSchema, {
    code,
    message: message.toWellFormed(),
    param: param?.toWellFormed() ?? "",
    retryable,
    retryAfterS,
  });
}

export function toProblem(error: RepriseError): Problem {
  const { retryAfterMs = 0 } = error;
  return parseProblem(toErrorBody(error), Math.ceil(retryAfterMs / 1_000));
}

/** A problem as a status, which has it in its details. */
export function toConnectError(problem: Problem, cursor?: string): ConnectError {
  const { code, message } = problem;
  const trailers = cursor ? { [CURSOR_TRAILER]: cursor } : {};
  const grpcCode = toCode(isErrorCode(code) ? toHttpStatus(code) : 500);
  return new ConnectError(message, grpcCode, trailers, [{ desc: ProblemSchema, value: problem }]);
}
