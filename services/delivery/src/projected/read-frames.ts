import { setImmediate as nextTurn } from "node:timers/promises";
import type { Hub } from "@reprise/stream";
import type { Frame, Projection } from "@reprise/projections";
import type { Seq } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { recordFullResponse } from "../readers/delivery-marks/record-full-response.ts";
import type { ProjectedCall } from "./projected-call.ts";
import { ProjectionFold } from "./projection-fold.ts";
import type { SettledPorts } from "./read-settled.ts";

/** The part of a route's context that this takes. */
export interface FramesPorts extends Pick<SettledPorts, "authentication" | "readers"> {
  readonly hub: Pick<Hub, "open" | "refresh" | "readHistory">;
}

export interface FramesRead<State> extends ProjectedCall {
  readonly projection: Projection<State>;
  /** The number of the first frame, from 0. */
  readonly from: number;
  /** Called with how to tell the bytes of the frames. */
  readonly onReplay: (bytesOf: () => number) => void;
}

/** Data of one answer, in UTF-16 units: the frame that fills it is the last. */
const PAGE_UNITS = 256 * 1_024;
/** Events folded in one go. */
const SLICE_EVENTS = 256;

/**
 * Frames of a projection from a number on, as far as they are settled now: as many as fill a page. None where there are no more by now. To be called
 * directly before the answer is sent: with it the caller has read them.
 * @throws RepriseError as `readSettled` does that does not wait
 */
export async function readFrames<State>(
  context: FramesPorts,
  reply: Pick<FastifyReply, "raw">,
  { projection, from, onReplay, ref, begun, protocol, caller, principal, role }: FramesRead<State>,
): Promise<readonly Frame[]> {
  const { hub, authentication } = context;
  const cache = await hub.open(ref, begun);
  if (!cache.ended) await hub.refresh(cache);
  const page: Frame[] = [];
  let units = 0;
  let told: { readonly fromSeq: Seq; readonly lastSeq: Seq } | undefined;
  const fold = new ProjectionFold({ hub, cache }, projection, () => {
    page.length = units = 0;
    told = undefined;
  });
  const take = (frames: readonly Frame[], first: number) => {
    for (const [i, frame] of frames.entries()) {
      if (first + i < from || units >= PAGE_UNITS) continue;
      told = { fromSeq: told?.fromSeq ?? fold.seq, lastSeq: fold.seq };
      page.push(frame);
      units += frame.data.length;
    }
  };
  // The hub evicts a cache without listeners.
  const letGo = cache.listen(() => {});
  try {
    for (let step = fold.step(SLICE_EVENTS, take); units < PAGE_UNITS && step !== "settled";) {
      if (step === "absent") await fold.stepHistory(take);
      else await nextTurn();
      step = fold.step(SLICE_EVENTS, take);
    }
  } finally {
    letGo();
    fold.stop();
  }
  authentication.renewReader(principal, role);
  onReplay(() => units);
  if (told) recordFullResponse(context, reply, { ref, protocol, caller, ...told, cache });
  return page;
}
