import { toProtocolId } from "@reprise/projections";
import { parseGenerationId } from "@reprise/protocol";

/** Where a protocol's client reads a generation. */
export interface ProtocolCall {
  readonly path: string;
  /** For one that reads with the request that has created: it joins by the key. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the bench's generations are asked, as a chat's client asks it. */
export const CHAT = { model: "sim", messages: [{ role: "user", content: "bench" }], stream: true } as const;

/** By protocol: how a generation's stream is asked for, by its id and by the key that the bench's worker has made it with. */
export const PROTOCOLS = {
  native: (id) => ({ path: `/v1/generations/${id}/events` }),
  "openai-chat": (_id, key) => ({
    path: "/v1/chat/completions",
    body: JSON.stringify(CHAT),
    headers: { "idempotency-key": key },
  }),
  "openai-responses": (id) => ({
    path: `/v1/responses/${toProtocolId("resp_", parseGenerationId(id))}?stream=true`,
  }),
  "ai-sdk": (id) => ({ path: `/v1/ai-sdk/chat/${id}/stream` }),
} as const satisfies Record<string, (id: string, key: string) => ProtocolCall>;

export type ProtocolName = keyof typeof PROTOCOLS;
