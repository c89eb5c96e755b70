import type { ErrorCode, GenerationId } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

/** Facts about a request that were learned while it was answered, for its log line and its span. They contain no text from the client. */
export interface Notes {
  generation?: GenerationId;
  /** One that there is. */
  model?: string;
  /** Code of the error that it was answered with, or that broke its stream off. */
  code?: ErrorCode;
  /** True if its stream began after a cursor. */
  resumed?: boolean;
  /** Milliseconds from its arrival to the beginning of its answer. */
  firstByteMs?: number;
  /** Number of events that its stream has sent. */
  events?: () => number;
}

export class RequestNotes {
  readonly #notes = new WeakMap<FastifyRequest, Notes>();

  add(request: FastifyRequest, more: Notes): void {
    const notes = this.#notes.get(request);
    if (notes) Object.assign(notes, more);
    else this.#notes.set(request, more);
  }

  of(request: FastifyRequest): Readonly<Notes> {
    return this.#notes.get(request) ?? {};
  }
}
