import type { RequestLimits } from "../../limits/request-limits.ts";
import type { Authentication } from "../../http/auth.ts";
import {
  GENERATION_ID_HEADER,
  RUN_ID_HEADER,
  TAIL_INDEX_HEADER,
  UI_STREAM_HEADER,
} from "../../http/header-names.ts";
import type { NewLog } from "@reprise/stream";
import {
  createUiStream,
  endUiStreamAgain,
  tailIndexOf,
  toFirstFrame,
  toNothingFrames,
  toUiErrorFrames,
} from "@reprise/projections";
import { SSE_HEADERS } from "@reprise/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import { encodeFrame } from "../../projected/encode-frame.ts";
import { streamProjected, type ProjectedPorts } from "../../projected/stream-projected.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import type { StreamCall } from "../../telemetry/reader-metrics.ts";
import { AI_SDK, type ChatRun } from "./find-run.ts";

export interface UiStreamPorts extends ProjectedPorts {
  readonly authentication: Authentication;
  readonly limits: RequestLimits;
}

export interface RunRead {
  /** The first chunk that is wanted; below 0 from the end of what there is. */
  readonly startIndex: number;
  readonly call: StreamCall;
  readonly begun?: NewLog | undefined;
}

/**
 * Answers with a run as a UI message stream.
 * @throws RepriseError as `streamProjected` does
 */
export function streamRun(
  context: UiStreamPorts,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { ref, messageId }: ChatRun,
  { startIndex, call, begun }: RunRead,
): Promise<FastifyReply> {
  const principal = context.authentication.principalOf(request);
  const { generation } = ref;
  void reply.headers({
    [UI_STREAM_HEADER]: "v1",
    [RUN_ID_HEADER]: generation,
    [GENERATION_ID_HEADER]: generation,
  });
  const fromTail = (frames: number, hasEnded: boolean) => {
    const tailIndex = tailIndexOf(frames, hasEnded);
    void reply.header(TAIL_INDEX_HEADER, tailIndex);
    return toFirstFrame(startIndex, tailIndex);
  };
  return streamProjected(context, reply, {
    ref,
    protocol: AI_SDK,
    caller: callerOf(request, principal),
    principal,
    role: "read",
    begun,
    awaitsContent: call === "create",
    projection: createUiStream({ messageId }),
    from: startIndex < 0 ? fromTail : startIndex,
    param: "startIndex",
    endedFrames: endUiStreamAgain,
    endedFrom: (count) => tailIndexOf(count, true) + 1,
    status: 200,
    call,
    onReplay: (bytesOf) => context.limits.replayed(request, principal, bytesOf),
    errorFrames: toUiErrorFrames,
  });
}

/** Answers that there is nothing to resume: 204, which `useChat`'s own transport understands, or a stream of nothing for one that asks with an index. */
export function sendNothing(reply: FastifyReply, { byIndex }: { byIndex: boolean }): FastifyReply {
  if (!byIndex) return reply.code(204).send();
  const frames = toNothingFrames().map((frame) => encodeFrame(frame));
  return reply.headers({ ...SSE_HEADERS, [UI_STREAM_HEADER]: "v1" }).send(frames.join(""));
}
