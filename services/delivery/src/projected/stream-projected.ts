import type { Hub } from "@reprise/stream";
import type { Frame, Projection } from "@reprise/projections";
import { FIRST_SEQ, plus, type RepriseError, REQUEST_SEQ, SSE_HEADERS } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { hasLeft } from "../connections/http2.ts";
import { replayBytes } from "../limits/replay-bytes.ts";
import { beginReading, type ReadingPorts } from "../readers/begin-reading.ts";
import type { StreamCall } from "../telemetry/reader-metrics.ts";
import { type FirstContentPorts, waitForContent } from "./first-content.ts";
import { encodeFrame } from "./encode-frame.ts";
import { FrameWindow } from "./frame-window.ts";
import { PrivatePass } from "./private-pass.ts";
import type { ProjectedCaches } from "./projected-caches.ts";
import type { ProjectedCall } from "./projected-call.ts";
import type { ProjectedFrames } from "./projected-frames.ts";
import type { Fold } from "./projection-fold.ts";
import { beyondEnd, ProjectedStream } from "./projected-stream.ts";
import type { SharedFold } from "./shared-fold.ts";

/** Frames that sum up the earlier output for a late reader. */
export interface Opening<State, SoFar> {
  /** Folds the output so far; its readers share it. */
  readonly fold: Fold<SoFar>;
  /** @param state the projection's, after the same event */
  readonly toFrames: (state: State, soFar: SoFar) => readonly Frame[];
  /** True if the frames depend on the two states alone: then its readers share them. */
  readonly isShared: boolean;
}

export interface ProjectedRead<State, SoFar = unknown> extends ProjectedCall {
  /** Shared by all readers of its name: options that change frames are part of the name. */
  readonly projection: Projection<State>;
  /**
   * The number of the first frame to send, from 0: how many the client has. A function is given how many frames there are now, and whether these
   * are all, and may set headers of the answer by that.
   */
  readonly from: number | ((frames: number, hasEnded: boolean) => number);
  /** Parameter that the client sent the position in, for errors. Default `from`. */
  readonly param?: string;
  /** HTTP status of an answer that has frames, or will have them. */
  readonly status: number;
  /** HTTP status for a reader that has every frame: 200 with an empty stream (the default), or 204. */
  readonly endedStatus?: 200 | 204;
  /** Frames without numbers that such a reader is sent, if its protocol repeats the end. None: an empty answer. */
  readonly endedFrames?: (state: State) => readonly Frame[];
  /**
   * Returns the position from which a reader has everything, given the number of frames, if the last frames only mark the end. Default: the position after the
   * last frame.
   */
  readonly endedFrom?: (frames: number) => number;
  readonly call: StreamCall;
  /** Called with how to tell the bytes of frames that were there before the reader came. */
  readonly onReplay: (bytesOf: () => number) => void;
  /** Returns the frames that tell a reader of an error that is not retryable, before its connection is broken. May be none. */
  readonly errorFrames: (error: RepriseError) => readonly Frame[];
  /** True if each frame has an `id:` line: its number. Default false. */
  readonly ids?: boolean;
  /**
   * For a protocol whose late readers are told at once what was said so far: frames that are sent first, without numbers, made of what there is
   * by now. The frames that come follow; `from` and `endedStatus` do not count.
   */
  readonly opening?: Opening<State, SoFar>;
}

/** The part of a route's context that this takes. */
export interface ProjectedPorts extends ReadingPorts, Pick<FirstContentPorts, "headWaitMs"> {
  readonly hub: Pick<Hub, "open" | "refresh" | "refreshFromLeader" | "readHistory">;
  readonly projections: Pick<ProjectedCaches, "of" | "foldOf">;
}

/**
 * Answers with a projection of a generation as `text/event-stream`: the frames from `from` on, then new ones, up to the protocol's own end. Under
 * every policy it folds the events as `gate` shows them, because its readers cannot be told that text was withdrawn. The route has already counted the call, and
 * has set the answer's headers other than those of SSE.
 *
 * A frame is `[id: <number>\n][event: <name>\n]data: <data>\n\n`. The answer ends cleanly only after the end of the projection. An error before the headers is
 * thrown. Later, a retryable error breaks the connection without a frame, and any other error sends `errorFrames` first.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`; `cursor_expired` if the log has lost its beginning; `cursor_invalid`
 *   with `param` if the projection cannot have that position; `policy_unsupported`, `broker_unavailable`, `draining`; `unauthenticated`, `forbidden`; with
 *   `awaitsContent` the failure of a generation without content
 */
export async function streamProjected<State, SoFar>(
  context: ProjectedPorts,
  reply: FastifyReply,
  read: ProjectedRead<State, SoFar>,
): Promise<FastifyReply> {
  const { from } = read;
  const isResumed = typeof from === "number" && from > 0;
  const answer = stream(context, reply, read);
  return context.readerMetrics.countGone({ seq: isResumed ? FIRST_SEQ : REQUEST_SEQ }, answer);
}

async function stream<State, SoFar>(
  context: ProjectedPorts,
  reply: FastifyReply,
  read: ProjectedRead<State, SoFar>,
): Promise<FastifyReply> {
  const { hub, projections, readerMetrics } = context;
  const { ref, begun, projection, from, ids = false, param = "from", errorFrames } = read;
  const cache = await hub.open(ref, begun);
  // The hub evicts a cache without listeners, and with it the folded state.
  using held = new DisposableStack();
  held.defer(cache.listen(() => {}));
  if (read.awaitsContent) await waitForContent(context, reply, cache, read);
  const frames = projections.of(cache, projection, { ids });
  const soFar = read.opening && projections.foldOf(cache, read.opening.fold);
  await frames.catchUp();
  if (hasLeft(reply.raw)) return await reply;
  const opening = read.opening && soFar && (await open(frames, soFar, read.opening));
  // Nothing is awaited between this and the reader's registration but for a reader without an opening.
  const position = opening
    ? frames.count
    : typeof from === "number"
      ? from
      : from(frames.count, frames.hasEnded);
  if (position > frames.count) await reach(hub, frames, { position, param });
  const resumed = !opening && position > 0;
  const endedFrom = read.endedFrom ?? ((count) => count);
  if (!opening && frames.hasEnded && position >= endedFrom(frames.count)) {
    readerMetrics.resumed({ seq: resumed ? frames.seqBefore(position) : REQUEST_SEQ }, "ended");
    const again = read.endedFrames?.(frames.state as State) ?? [];
    return await sendAgain(reply, again, again.length > 0 ? 200 : (read.endedStatus ?? 200));
  }
  const pass = position < frames.first ? new PrivatePass(frames.source) : undefined;
  const { status, protocol, caller, principal, role, call } = read;
  let isOpen = false;
  try {
    // While an answer can still say that the log has lost these events.
    await pass?.next(position);
    const firstSeq = () => pass?.firstSeq ?? plus(frames.seqBefore(position), 1);
    const fromSeq = resumed ? firstSeq() : FIRST_SEQ;
    read.onReplay(() => replayBytes(opening ?? frames, opening ? 0 : position));
    return await beginReading(context, reply, {
      cache,
      fromSeq,
      resumed,
      status,
      protocol,
      caller,
      principal,
      role,
      call,
      created: begun !== undefined,
      open(options) {
        isOpen = true;
        return new ProjectedStream({ ...options, frames, position, param, pass, opening, errorFrames });
      },
    });
  } finally {
    // Its client may have left, or may read no longer.
    if (!isOpen) pass?.stop();
  }
}

/** Makes the frames of an opening, after the last event that has frames. */
async function open<State, SoFar>(
  frames: ProjectedFrames,
  soFar: SharedFold<SoFar>,
  { toFrames, isShared }: Opening<State, SoFar>,
): Promise<FrameWindow> {
  for (;;) {
    const { state, lastSeq } = await soFar.settle();
    if (lastSeq === frames.seq) {
      const made = isShared ? frames.opening : undefined;
      if (made?.state === frames.state && made?.soFar === state) return made.window;
      const window = toWindow(toFrames(frames.state as State, state));
      if (isShared) frames.opening = { state: frames.state, soFar: state, window };
      return window;
    }
    // Events have come meanwhile.
    await frames.catchUp();
  }
}

/**
 * Another node may have sent frames that this one does not know yet: of events that a replica does not have, or that are not settled here.
 * @throws RepriseError `cursor_invalid` where no node can have sent them; `broker_unavailable`
 */
async function reach(
  hub: ProjectedPorts["hub"],
  frames: ProjectedFrames,
  { position, param }: { position: number; param: string },
): Promise<void> {
  const { cache } = frames.source;
  for (const refresh of [() => hub.refresh(cache), () => hub.refreshFromLeader(cache)]) {
    await refresh();
    await frames.catchUp();
    if (position <= frames.count) return;
  }
  if (frames.hasEnded || cache.settledSeq === cache.lastSeq) throw beyondEnd(position, frames.count, param);
}

function toWindow(frames: readonly Frame[]): FrameWindow {
  const window = new FrameWindow({ ids: false, from: 0 });
  for (const frame of frames) window.add(frame);
  return window;
}

/** Answers a reader that has every frame. */
function sendAgain(reply: FastifyReply, frames: readonly Frame[], status: 200 | 204): FastifyReply {
  if (status === 204) return reply.code(204).send();
  const body = frames.map((frame) => encodeFrame(frame)).join("");
  return reply.code(200).headers(SSE_HEADERS).send(body);
}
