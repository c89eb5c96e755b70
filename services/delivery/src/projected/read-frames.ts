import { setImmediate as nextTurn } from "node:timers/promises";
import type { Hub } from "@reprise/stream";
import type { Frame, Projection } from "@reprise/projections";
import { FIRST_SEQ, plus, REQUEST_SEQ, type Seq } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { recordFullResponse } from "../readers/delivery-marks/record-full-response.ts";
import type { ProjectedCaches } from "./projected-caches.ts";
import type { ProjectedCall } from "./projected-call.ts";
import type { ProjectedFrames, ProjectedSource } from "./projected-frames.ts";
import { ProjectionFold } from "./projection-fold.ts";
import type { WaitingPorts } from "./wait-as-reader.ts";

/** The part of a route's context that this takes. */
export interface FramesPorts extends Pick<WaitingPorts, "authentication" | "readers"> {
  readonly hub: Pick<Hub, "open" | "refresh">;
  readonly projections: Pick<ProjectedCaches, "of">;
}

export interface FramesRead extends ProjectedCall {
  readonly projection: Projection<unknown>;
  /** The number of the first frame, from 0. */
  readonly from: number;
  /** Called with how to tell the bytes that the page has cost. */
  readonly onReplay: (bytesOf: () => number) => void;
}

/** A page of frames, and the events that they are of. */
interface Page {
  readonly frames: readonly string[];
  /** Bytes held for this page alone. */
  readonly bytes: number;
  readonly fromSeq: Seq;
  readonly lastSeq: Seq;
}

/** Data of one answer, in UTF-16 units: the frame that fills it is the last. */
const PAGE_UNITS = 256 * 1_024;
/** Events folded in one go. */
const SLICE_EVENTS = 64;

/**
 * Reads the data of a projection's frames from a number on, as far as they are settled now: as many as fill a page. To be called directly before the answer
 * is sent: with it the caller has read them.
 * @throws RepriseError as `readSettled` does that does not wait
 */
export async function readFrames(
  context: FramesPorts,
  reply: Pick<FastifyReply, "raw">,
  read: FramesRead,
): Promise<readonly string[]> {
  const { ref, begun, protocol, caller, principal, role } = read;
  const cache = await context.hub.open(ref, begun);
  if (!cache.ended) await context.hub.refresh(cache);
  // The hub evicts a cache without listeners.
  using held = new DisposableStack();
  held.defer(cache.listen(() => {}));
  const page = await readPage(context.projections.of(cache, read.projection, { ids: true }), read.from);
  context.authentication.renewReader(principal, role);
  const { frames, fromSeq, lastSeq } = page;
  read.onReplay(() => page.bytes + frames.reduce((units, { length }) => units + length, 0));
  if (frames.length > 0)
    recordFullResponse(context, reply, { ref, protocol, caller, fromSeq, lastSeq, cache });
  return frames;
}

async function readPage(frames: ProjectedFrames, from: number): Promise<Page> {
  await frames.catchUp();
  if (from < frames.first) return foldPage(frames.source, from);
  const page: string[] = [];
  let units = 0;
  for (let data = frames.dataAt(from); data !== undefined; data = frames.dataAt(from + page.length)) {
    page.push(data);
    units += data.length;
    if (units >= PAGE_UNITS) break;
  }
  const eventAt = (position: number) => plus(frames.seqBefore(position), 1);
  return { frames: page, bytes: 0, fromSeq: eventAt(from), lastSeq: eventAt(from + page.length - 1) };
}

/** Makes a page that the node no longer keeps, from the log's beginning. */
async function foldPage({ hub, cache, projection }: ProjectedSource, from: number): Promise<Page> {
  let page: string[] = [];
  let units = 0;
  let fromSeq = FIRST_SEQ;
  let lastSeq: Seq = REQUEST_SEQ;
  const fold = new ProjectionFold({ hub, cache }, projection, () => {
    page = [];
    units = 0;
  });
  const take = (ofEvent: readonly Frame[], first: number) => {
    for (const [i, { data }] of ofEvent.entries()) {
      if (first + i < from || units >= PAGE_UNITS) continue;
      if (page.length === 0) fromSeq = fold.seq;
      lastSeq = fold.seq;
      page.push(data);
      units += data.length;
    }
  };
  using held = new DisposableStack();
  held.defer(() => fold.stop());
  held.defer(
    cache.attach({
      get bytes() {
        return fold.bytes + units;
      },
      // The page needs all of it.
      trim() {},
      forget: () => fold.reset(),
    }),
  );
  for (let step = fold.step(SLICE_EVENTS, take); units < PAGE_UNITS && step !== "settled";) {
    if (step === "absent") await fold.stepHistory(take);
    else await nextTurn();
    step = fold.step(SLICE_EVENTS, take);
  }
  return { frames: page, bytes: fold.bytes, fromSeq, lastSeq };
}
