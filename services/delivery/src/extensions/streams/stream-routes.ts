import { Readable } from "node:stream";
import {
  type DurableStreamName,
  isGenerationId,
  LIMITS,
  RepriseError,
  STREAM_START,
  type StreamSeq,
  toErrorBody,
} from "@reprise/protocol";
import type { GenerationLog } from "@reprise/stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import { hasLeft } from "../../connections/http2.ts";
import { accessGeneration } from "../../domain/generation-access.ts";
import { type Authentication, needsKey } from "../../http/auth.ts";
import { headerOf } from "../../http/header-of.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import { drainingError } from "../../readers/begin-stream.ts";
import type { RequestNotes } from "../../telemetry/request-notes.ts";
import { type Append, decideAppend, liveHead, notFound, type Refused } from "./next-record.ts";
import { eventHeaders, sseEvents, type Window } from "./sse-answer.ts";
import { contentOf, etagOf, nextCursor, readHeaders, readState, stateHeaders } from "./stream-answers.ts";
import {
  GENERATION_TYPE,
  type GenerationStreamPorts,
  inspectGeneration,
  readGenerationStream,
} from "./generation-stream.ts";
import type { StreamFeed, StreamFeeds } from "./stream-feeds.ts";
import type { StreamLogs, StreamPiece } from "./stream-logs.ts";
import type { StreamHead } from "./stream-record.ts";
import { NOW, parseAppend, parseCreate, parseQuery, placeOf, type StreamQuery } from "./stream-request.ts";

export interface StreamPorts extends GenerationStreamPorts {
  readonly authentication: Authentication;
  readonly bodies: Pick<RequestBodies, "keep">;
  readonly limits: Pick<RequestLimits, "attach" | "replayed">;
  readonly log: Pick<GenerationLog, "reader">;
  readonly notes: Pick<RequestNotes, "add">;
  readonly logs: StreamLogs;
  readonly feeds: StreamFeeds;
}

type Named = { Params: { "*": string } };
type StreamRequest = FastifyRequest<Named>;

const METHODS = ["PUT", "POST", "GET", "HEAD", "DELETE"] as const;
/** The second path is that of the protocol's own servers and suites. */
const PATHS = ["/v1/streams/*", "/v1/stream/*"] as const;

export const STREAM_PATHS = Object.fromEntries(PATHS.map((path) => [path, METHODS]));

const MAX_NAME = 1_024;
/** Bytes that are read for events at a time, unless one record has more: their client may take them slowly. */
const SSE_BYTES = 64 * 1_024;
/** Names that the protocol has for subscriptions. */
const RESERVED = /^__ds(?:\/|$)/;
const creating = { roles: ["create"] } as const;
const appending = { roles: ["produce", "create"] } as const;
/** A stream token reads its generation. */
const reading = { roles: ["read"], streamTokens: true } as const;

/** Adds the routes of the Durable Streams protocol. Content may be of any type there: so they have a scope of their own. */
export function addStreamRoutes(app: FastifyInstance, ports: StreamPorts): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    scope.addHook("onSend", async ({ method }, reply) => {
      void reply.header("cross-origin-resource-policy", "cross-origin");
      // A preflight: pages may use these methods here and nowhere else.
      if (method === "OPTIONS") void reply.header("access-control-allow-methods", METHODS.join(", "));
    });
    for (const path of PATHS) {
      // CORS answers it; the route has its answer pass the hook above.
      scope.options(path, (_request, reply) => reply.code(204).send());
      scope.put<Named>(path, { config: creating }, (request, reply) => create(ports, request, reply));
      scope.post<Named>(path, { config: appending }, (request, reply) => append(ports, request, reply));
      scope.delete<Named>(path, { config: creating }, (request, reply) => remove(ports, request, reply));
      scope.head<Named>(path, { config: reading }, (request, reply) => inspect(ports, request, reply));
      const counting = { ...reading, countsItself: true };
      scope.get<Named>(path, { config: counting }, (request, reply) => read(ports, request, reply));
    }
  });
}

async function create(
  ports: StreamPorts,
  request: StreamRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  using _ = ports.bodies.keep(request.raw);
  const stream = nameOf(ports, request);
  const asked = parseCreate(request);
  const outcome = await ports.logs.create(stream, asked);
  if (outcome.kind === "refused") return await refuse(ports, reply, outcome);
  const { head } = outcome;
  void reply.headers({ ...stateHeaders(head), "content-type": head.state.type });
  if (outcome.kind === "unchanged") return await reply.code(200).send();
  return await reply
    .code(201)
    .header("location", `${request.protocol}://${request.host}${request.url}`)
    .send();
}

async function append(
  ports: StreamPorts,
  request: StreamRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  using _ = ports.bodies.keep(request.raw);
  const stream = nameOf(ports, request);
  const asked = parseAppend(request);
  const outcome = await ports.logs.change(stream, (head, nowMs) => decideAppend(head, asked, nowMs));
  if (outcome.kind === "refused") return await refuse(ports, reply, outcome);
  void reply.headers({ ...stateHeaders(outcome.head), ...producerHeaders(outcome.head, asked) });
  const isNew = outcome.kind === "stored" && asked.producer !== undefined && asked.data.length > 0;
  return await reply.code(isNew ? 200 : 204).send();
}

/** Headers for the last append of the producer, which may be a later one than was sent again. */
function producerHeaders({ state }: StreamHead, { producer }: Append): Record<string, string> {
  const known = state.producers.find(({ id }) => id === producer?.id);
  return known ? { "producer-epoch": `${known.epoch}`, "producer-seq": `${known.seq}` } : {};
}

async function remove(
  ports: StreamPorts,
  request: StreamRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const outcome = await ports.logs.remove(nameOf(ports, request));
  return outcome.kind === "refused" ? refuse(ports, reply, outcome) : reply.code(204).send();
}

async function inspect(
  ports: StreamPorts,
  request: StreamRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (isGeneration(request)) {
    const principal = ports.authentication.principalOf(request);
    const ref = await accessGeneration(ports.log, principal, request.params["*"]);
    const headers = await inspectGeneration(ports.hub, ref);
    return reply.headers({ ...headers, "content-type": GENERATION_TYPE }).send();
  }
  const head = await findHead(ports, nameOf(ports, request));
  return reply.headers({ ...stateHeaders(head), "content-type": head.state.type }).send();
}

async function read(ports: StreamPorts, request: StreamRequest, reply: FastifyReply): Promise<FastifyReply> {
  const principal = ports.authentication.principalOf(request);
  const query = parseQuery(request);
  const isStream = query.live === "sse";
  await ports.limits.attach([request, reply], principal, { isStream, waits: query.live === "long-poll" });
  if (isGeneration(request)) {
    const ref = await accessGeneration(ports.log, principal, request.params["*"]);
    ports.notes.add(request, { generation: ref.generation });
    return readGenerationStream(ports, reply, { ref, principal, query, signal: gone(ports, reply) });
  }
  const stream = nameOf(ports, request);
  if (query.live === undefined) return sendNow(ports, reply, stream, query);
  const place = placeOf(query);
  const following = follow(ports, reply, stream);
  await following.feed.ready;
  const head = await ports.logs.touch(stream, await findHead(ports, stream));
  following.feed.saw(head);
  const after = startOf(head, place);
  const onReplay = (bytes: number) => ports.limits.replayed(request, principal, () => bytes);
  const assertMayRead = () => void ports.authentication.renewReader(principal, "read");
  const live = {
    ...following,
    logs: ports.logs,
    stream,
    head,
    after,
    cursor: query.cursor,
    onReplay,
    assertMayRead,
  };
  return isStream ? sendEvents(reply, live) : poll(ports, reply, live);
}

/** A read that waits for nothing. */
async function sendNow(
  ports: StreamPorts,
  reply: FastifyReply,
  stream: DurableStreamName,
  query: StreamQuery,
): Promise<FastifyReply> {
  const place = placeOf(query);
  const head = await ports.logs.touch(stream, await findHead(ports, stream));
  const after = startOf(head, place);
  const pieces = await ports.logs.read(stream, head, after);
  return sendPieces(ports, reply, { head, after, pieces, isTagged: place !== NOW });
}

interface PiecesRead {
  readonly head: StreamHead;
  readonly after: StreamSeq;
  readonly pieces: readonly StreamPiece[];
  /** False if the same request has other content later. */
  readonly isTagged: boolean;
}

function sendPieces(
  { authentication, limits }: StreamPorts,
  reply: FastifyReply,
  { head, after, pieces, isTagged }: PiecesRead,
): FastifyReply {
  const { request } = reply;
  const state = readState(head, pieces);
  const etag = etagOf(head, after, state);
  void reply.headers({ ...readHeaders(state), "content-type": head.state.type });
  if (isTagged) void reply.header("etag", etag);
  if (isTagged && headerOf(request, "if-none-match") === etag) return reply.code(304).send();
  const content = Buffer.concat(contentOf(head, pieces));
  limits.replayed(request, authentication.principalOf(request), () => content.length);
  return reply.send(content);
}

/** A live read of a stream. */
interface Following {
  readonly logs: StreamLogs;
  readonly feed: StreamFeed;
  readonly stream: DurableStreamName;
  readonly head: StreamHead;
  /** The offset to begin after. */
  readonly after: StreamSeq;
  readonly cursor: number | undefined;
  /** Aborted when the client leaves or the node drains. */
  readonly signal: AbortSignal;
  readonly onReplay: (bytes: number) => void;
  /** @throws RepriseError when the caller may not read any more */
  readonly assertMayRead: () => void;
}

/** Answers as soon as there is something after the offset, or the stream is closed, or with 204 after a while. */
async function poll(
  ports: StreamPorts,
  reply: FastifyReply,
  { logs, feed, stream, signal, after, assertMayRead, cursor, ...following }: Following,
): Promise<FastifyReply> {
  let { head } = following;
  const endMs = performance.now() + LIMITS.pageWaitMs;
  for (let ms = LIMITS.pageWaitMs; after === head.tail && !head.state.isClosed && ms > 0;) {
    const later = await feed.waitAfter(head.at, { ms, signal });
    if (ports.draining.aborted) throw drainingError();
    if (later) assertSame(head, later);
    if (signal.aborted) break;
    head = later ?? head;
    ms = endMs - performance.now();
  }
  const kept = after < head.tail ? feed.piecesAfter(after, head) : undefined;
  const pieces = kept ?? (await logs.read(stream, head, after));
  assertMayRead();
  void reply.header("stream-cursor", `${nextCursor(logs.now(), cursor, Math.random())}`);
  if (pieces.length > 0) return sendPieces(ports, reply, { head, after, pieces, isTagged: true });
  return reply
    .code(204)
    .headers(readHeaders(readState(head, pieces)))
    .send();
}

async function sendEvents(reply: FastifyReply, following: Following): Promise<FastifyReply> {
  const { logs, feed, stream, signal, cursor, onReplay, assertMayRead } = following;
  let { head, after } = following;
  // While the answer can still be a refusal.
  let pieces = await logs.read(stream, head, after, SSE_BYTES);
  const next = async (waitMs: number): Promise<Window> => {
    if (pieces.length === 0 && after >= head.tail && !head.state.isClosed) {
      const later = await feed.waitAfter(head.at, { ms: waitMs, signal });
      if (later) assertSame(head, later);
      head = later ?? head;
    }
    if (pieces.length === 0 && after < head.tail)
      pieces = feed.piecesAfter(after, head) ?? (await logs.read(stream, head, after, SSE_BYTES));
    assertMayRead();
    const [piece, ...rest] = pieces;
    if (!piece) return { state: readState(head, []) };
    pieces = rest;
    after = piece.at;
    return { content: contentOf(head, [piece]), state: readState(head, [piece]) };
  };
  const { type } = head.state;
  void reply.headers(eventHeaders(type));
  return reply.send(
    Readable.from(sseEvents({ type, next, cursor, signal, onReplay }), { objectMode: false }),
  );
}

/** @throws RepriseError `stream_not_found` if a stream was deleted meanwhile */
function assertSame(head: StreamHead, later: StreamHead): void {
  if (later.created !== head.created || later.kind === "delete") throw notFound().error;
}

/** A stream without content begins at its end. */
function startOf({ tail, state }: StreamHead, place: StreamSeq | typeof NOW): StreamSeq {
  return place === NOW || (place === STREAM_START && state.bytes === 0) ? tail : place;
}

/** Follows a stream until the answer is over. */
function follow(
  ports: Pick<StreamPorts, "feeds" | "draining">,
  reply: FastifyReply,
  stream: DurableStreamName,
): Pick<Following, "feed" | "signal"> {
  const feed = ports.feeds.open(stream);
  return { feed, signal: gone(ports, reply, () => feed[Symbol.dispose]()) };
}

/** Aborted when the client leaves or the answer is over, after which `leave` is called, or when the node drains. */
function gone(
  { draining }: Pick<StreamPorts, "draining">,
  { raw }: FastifyReply,
  leave = () => {},
): AbortSignal {
  const left = new AbortController();
  const close = () => {
    left.abort();
    leave();
  };
  if (hasLeft(raw)) close();
  else raw.once("close", close);
  return AbortSignal.any([draining, left.signal]);
}

async function findHead({ logs }: StreamPorts, stream: DurableStreamName): Promise<StreamHead> {
  const head = liveHead(await logs.readHead(stream), logs.now());
  if (head) return head;
  throw notFound().error;
}

function isGeneration({ params }: StreamRequest): boolean {
  return isGenerationId(params["*"]);
}

/** @throws RepriseError `invalid_request`, `not_found`, `forbidden`; `method_not_allowed` for the id of a generation, which is only read here */
function nameOf({ authentication }: StreamPorts, request: StreamRequest): DurableStreamName {
  const name = request.params["*"];
  const { tenant, tokenId } = authentication.principalOf(request);
  if (isGeneration(request))
    throw new RepriseError("method_not_allowed", "A generation is only read as a stream: GET, HEAD.");
  if (tokenId !== undefined) throw needsKey();
  if (name.length === 0 || name.length > MAX_NAME)
    throw new RepriseError("invalid_request", `A stream's name has 1 to ${MAX_NAME} characters.`);
  if (RESERVED.test(name)) throw new RepriseError("not_found", "Subscriptions are not offered.");
  return { tenant, name };
}

function refuse({ notes }: StreamPorts, reply: FastifyReply, refused: Refused): FastifyReply {
  const { error, status, headers, head } = refused;
  void reply.headers({ ...(head && stateHeaders(head)), ...headers });
  if (status === undefined) throw error;
  notes.add(reply.request, { code: error.code });
  return reply.code(status).type("application/json; charset=utf-8").send(toErrorBody(error));
}
