import type { RequestNotes } from "../../telemetry/request-notes.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import type { Authentication } from "../../http/auth.ts";
import { GENERATION_ID_HEADER } from "../../http/header-names.ts";
import type { NewLog } from "@reprise/stream";
import { type Frame, type Projection, toRunErrorFrames } from "@reprise/projections";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Opening, streamProjected, type ProjectedPorts } from "../../projected/stream-projected.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import type { StreamCall } from "../../telemetry/reader-metrics.ts";
import type { AgentProtocol, Run } from "./runs.ts";

export interface AgentStreamPorts extends ProjectedPorts {
  readonly authentication: Authentication;
  readonly limits: RequestLimits;
  readonly notes: RequestNotes;
}

export interface RunRead<State, SoFar = unknown> {
  readonly protocol: AgentProtocol;
  readonly projection: Projection<State>;
  /** The number of the first frame. */
  readonly from: number;
  /** Frames that replace the earlier frames for a late reader. */
  readonly opening?: Opening<State, SoFar>;
  /** Returns the frames for a reader that already has all. */
  readonly endedFrames?: (state: State) => readonly Frame[];
  readonly param?: string;
  readonly call: StreamCall;
  readonly begun?: NewLog | undefined;
  readonly ids?: boolean;
}

/** Answers with a run's events. The call was counted before. */
export function streamRun<State, SoFar>(
  context: AgentStreamPorts,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { ref }: Run,
  read: RunRead<State, SoFar>,
): Promise<FastifyReply> {
  const principal = context.authentication.principalOf(request);
  context.notes.add(request, { generation: ref.generation });
  void reply.header(GENERATION_ID_HEADER, ref.generation);
  return streamProjected(context, reply, {
    ...read,
    ref,
    caller: callerOf(request, principal),
    principal,
    role: "read",
    awaitsContent: request.method === "POST" && read.from === 0,
    status: 200,
    onReplay: (bytesOf) => context.limits.replayed(request, principal, bytesOf),
    errorFrames: toRunErrorFrames,
  });
}
