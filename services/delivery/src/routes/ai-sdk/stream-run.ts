import type { NewLog } from "@reprise/log";
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
import { GENERATION_ID_HEADER } from "../../create/create-generation.ts";
import { encodeFrame } from "../../projected/encode-frame.ts";
import { streamProjected } from "../../projected/stream-projected.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import type { StreamCall } from "../../telemetry/reader-metrics.ts";
import type { RouteContext } from "../context.ts";
import { AI_SDK, type ChatRun } from "./find-run.ts";

/** Names the run for `WorkflowChatTransport`, which resumes by it. */
export const RUN_ID_HEADER = "X-Workflow-Run-Id";
/** The index of the last chunk there is, for a reader that asks for the last few. */
export const TAIL_INDEX_HEADER = "X-Workflow-Stream-Tail-Index";
/** The protocol, and its version. */
export const UI_STREAM_HEADER = "X-Vercel-AI-UI-Message-Stream";

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
  context: RouteContext,
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
