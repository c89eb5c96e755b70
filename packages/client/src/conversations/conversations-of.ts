import type { ConversationInput, Message } from "@reprise/protocol/wire";
import type { Client } from "../client.ts";

/** A chain of generations, its turns. */
export interface Conversation {
  /** A create's `conversation`. */
  readonly id: string;
  readonly object: "conversation";
  readonly turns: number;
  /** The last turn's generation. */
  readonly head: string | null;
  readonly when_full: string | { readonly policy: "summarize"; readonly model: string };
  readonly ttl_seconds: number;
  readonly created_at: string;
  readonly expires_at: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly subject?: string;
  readonly end_user?: string;
}

/** One message of a conversation, as the next turn's model is given it. */
export type ConversationItem = Message & {
  readonly id: string;
  /** The turn that it is of; null for instructions from the beginning. */
  readonly generation: string | null;
};

/** Every call needs an API key, throws RepriseError, and retries what is retryable. */
export interface Conversations {
  /** Resolves when it is stored. `idempotencyKey`: the same one always names the same conversation; default: a new one for each call. */
  create(
    request?: ConversationInput,
    options?: { idempotencyKey?: string; signal?: AbortSignal },
  ): Promise<Conversation>;
  get(id: string, options?: { signal?: AbortSignal }): Promise<Conversation>;
  /** All of the tenant, or of one end user, in the order in which they were last changed. Asks for them page by page, as the loop takes them. */
  list(options?: { endUser?: string; signal?: AbortSignal }): AsyncGenerator<Conversation, void, undefined>;
  /**
   * The conversation's inputs and outputs, page by page, as readers may have them now.
   * @param options `order`: `desc` begins with the last item; `after`: the id of an item to continue after
   */
  items(
    id: string,
    options?: { order?: "asc" | "desc"; after?: string; signal?: AbortSignal },
  ): AsyncGenerator<ConversationItem, void, undefined>;
  /** Erases it with all of its turns. Resolves when it takes no turn any more; the platform erases what was said within minutes. */
  delete(id: string, options?: { signal?: AbortSignal }): Promise<void>;
}

interface Page<T> {
  readonly data: readonly T[];
  readonly cursor?: string;
}

const PATH = "/v1/conversations";
const PAGE = 100;

export function conversationsOf({ transport }: Client): Conversations {
  async function* pages<T>(
    path: string,
    query: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, void, undefined> {
    for (let after = query["after"]; ;) {
      const page: Page<T> = await transport.call(
        { method: "GET", path: path + toQuery({ ...query, after, limit: `${PAGE}` }) },
        signal,
      );
      yield* page.data;
      // A page may be empty where more follow: a cursor says so.
      after = page.cursor;
      if (after === undefined) return;
    }
  }

  const pathOf = (id: string) => `${PATH}/${transport.segment(id)}`;

  return {
    create: (request = {}, { idempotencyKey, signal } = {}) =>
      transport.call(
        {
          method: "POST",
          path: PATH,
          headers: { "idempotency-key": transport.keyFor(idempotencyKey) },
          body: JSON.stringify(request),
        },
        signal,
      ),
    get: (id, { signal } = {}) => transport.call({ method: "GET", path: pathOf(id) }, signal),
    list: ({ endUser, signal } = {}) => pages(PATH, { end_user: endUser }, signal),
    items: (id, { order, after, signal } = {}) => pages(`${pathOf(id)}/items`, { order, after }, signal),
    async delete(id, { signal } = {}) {
      await transport.call({ method: "DELETE", path: pathOf(id) }, signal);
    },
  };
}

function toQuery(fields: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `?${parts.join("&")}`;
}
