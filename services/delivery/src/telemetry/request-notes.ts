import type { ErrorCode, GenerationId } from "@reprise/protocol";
import type { FastifyRequest } from "fastify";

/** What became known of a request while it was answered, for its line in the log and its span. Nothing in it is the client's text. */
export interface Notes {
  generation?: GenerationId;
  /** One that there is. */
  model?: string;
  /** Of the error that it was answered with, or that broke its stream off. */
  code?: ErrorCode;
  /** Whether its stream began behind a cursor. */
  resumed?: boolean;
  /** When its answer began, in milliseconds behind its arrival. */
  firstByteMs?: number;
  /** How many events its stream has sent. */
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
