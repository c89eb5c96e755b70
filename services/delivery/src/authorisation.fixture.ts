import { INPUT as RUN_INPUT } from "./routes/agents/agents.fixture.ts";
import { CHAT as ONE_BODY } from "./routes/openai/chat.fixture.ts";
import { REQUEST } from "./testing/platform.ts";

const CHAT = { ...ONE_BODY, stream: true };

export interface Entry {
  /** The roles of API keys that may make the call; the operator's key makes those of `operator`. */
  readonly roles: readonly string[];
  /** The scopes of stream tokens that may make it. */
  readonly scopes?: readonly string[];
  readonly operator?: true;
  /** Set if `Accept: text/event-stream` is answered with a stream; its roles suffice for the stream if `roles` do not. */
  readonly stream?: { readonly roles: readonly string[] };
  /** True if a stream token may come as a query parameter. */
  readonly queryToken?: true;
  readonly status: number;
  readonly body?: unknown;
}

const READING = { roles: ["read"], scopes: ["read"] };

/** Expected answers of each endpoint. A route without an entry must answer 405. */
export const TABLE: Readonly<Record<string, Entry>> = {
  // A stream needs `read`, too.
  "POST /v1/generations": {
    roles: ["create"],
    scopes: ["create"],
    stream: { roles: [] },
    status: 201,
    body: REQUEST,
  },
  // Its answer has text: `create` and `read` together.
  "POST /v1/chat/completions": { roles: [], stream: { roles: [] }, status: 200, body: CHAT },
  "GET /v1/models": { roles: ["create", "read"], scopes: ["create"], status: 200 },
  "GET /v1/models/*": { roles: ["create", "read"], scopes: ["create"], status: 200 },
  "GET /v1/generations/:id": { roles: ["read", "audit"], scopes: ["read"], status: 200 },
  "GET /v1/generations/:id/events": {
    roles: ["read", "audit"],
    scopes: ["read"],
    stream: { roles: ["read", "audit"] },
    queryToken: true,
    status: 200,
  },
  "GET /v1/generations/:id/blobs/:blob": { roles: ["read"], scopes: ["read"], status: 200 },
  "POST /v1/generations/:id/cancel": { roles: ["cancel"], scopes: ["cancel"], status: 200 },
  "POST /v1/generations/:id/interrupt": {
    roles: ["cancel"],
    scopes: ["cancel"],
    status: 200,
    body: { heard: "0-0" },
  },
  "POST /v1/generations/:id/tool-results": {
    roles: ["tool"],
    scopes: ["tool"],
    status: 200,
    body: { call_id: "c1", output: 1 },
  },
  "POST /v1/generations/:id/input": {
    roles: ["input"],
    scopes: ["input"],
    status: 409,
    body: { first: 1, entries: [{ type: "input.end" }] },
  },
  "GET /v1/generations/:id/input": { roles: ["input"], scopes: ["input"], status: 409 },
  // A worker's generation, which no producer may write.
  "POST /v1/generations/:id/producer": {
    roles: ["produce", "create"],
    scopes: ["produce"],
    status: 409,
    body: {},
  },
  "POST /v1/generations/:id/output": {
    roles: ["produce", "create"],
    scopes: ["produce"],
    status: 409,
    body: { epoch: 1, entries: [] },
  },
  "POST /v1/responses": { roles: [], status: 200, body: { ...REQUEST, background: true } },
  "GET /v1/responses/:id": { roles: ["read"], scopes: ["read"], status: 200 },
  "POST /v1/responses/:id/cancel": { roles: ["cancel"], scopes: ["cancel"], status: 200 },
  "DELETE /v1/responses/:id": { roles: ["erase"], status: 409 },
  "GET /v1/responses/:id/input_items": { roles: [], status: 200 },
  "GET /v1/generations/:id/moderation": { roles: ["review"], status: 200 },
  "POST /v1/generations/:id/timings": {
    roles: ["read"],
    scopes: ["read"],
    status: 204,
    body: { round_trip_ms: 1 },
  },
  "POST /v1/generations/:id/tokens": { roles: ["read"], status: 201, body: { scopes: ["read"] } },
  "POST /v1/tokens": { roles: ["read"], status: 201, body: { scopes: ["read"], end_user: "ann" } },
  // A run's answer is its stream: it takes `create` and `read` together.
  "POST /v1/tanstack/chat": { roles: [], stream: { roles: [] }, status: 200, body: RUN_INPUT },
  // Which run, or thread, has to be said.
  "GET /v1/tanstack/chat": { roles: ["read"], scopes: ["read"], status: 400 },
  "POST /v1/tanstack/chat/:id/stop": { roles: ["cancel"], scopes: ["cancel"], status: 200 },
  "POST /v1/ag-ui/agent": { roles: [], stream: { roles: [] }, status: 200, body: RUN_INPUT },
  "GET /v1/ag-ui/agent": { roles: ["read"], scopes: ["read"], status: 400 },
  "POST /v1/ag-ui/agent/:id/stop": { roles: ["cancel"], scopes: ["cancel"], status: 200 },
  "POST /v1/ai-sdk/chat": { roles: [], status: 200, body: {} },
  "GET /v1/ai-sdk/chat/:id/stream": { ...READING, stream: READING, status: 200 },
  "POST /v1/ai-sdk/chat/:id/stop": { roles: ["cancel"], scopes: ["cancel"], status: 200 },
  "GET /v1/reviews": { roles: ["review"], status: 200 },
  "POST /v1/reviews/:id": { roles: ["review"], status: 200, body: { decision: "approve" } },
  "GET /v1/audit/generations": { roles: ["audit"], status: 200 },
  "GET /v1/audit/generations/:id": { roles: ["audit"], status: 200 },
  // Nothing answers for analytics here: what may ask learns that.
  "GET /v1/analytics/summary": { roles: ["usage"], operator: true, status: 503 },
  "GET /v1/analytics/timeseries": { roles: ["usage"], operator: true, status: 503 },
  "GET /v1/analytics/generations": { roles: ["usage"], operator: true, status: 503 },
  "GET /v1/analytics/budget": { roles: ["usage"], operator: true, status: 503 },
  "GET /v1/usage": { roles: ["usage"], operator: true, status: 503 },
  "GET /v1/admin/tenants": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants": { roles: [], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id": { roles: ["admin"], operator: true, status: 200 },
  "DELETE /v1/admin/tenants/:id": { roles: [], operator: true, status: 204 },
  "GET /v1/admin/tenants/:id/policy": { roles: ["admin"], operator: true, status: 200 },
  "PUT /v1/admin/tenants/:id/policy": {
    roles: ["admin"],
    operator: true,
    status: 200,
    body: { audit: { min_days: 0 } },
  },
  "GET /v1/admin/tenants/:id/keys": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants/:id/keys": { roles: ["admin"], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id/keys/:key": { roles: ["admin"], operator: true, status: 200 },
  "DELETE /v1/admin/tenants/:id/keys/:key": { roles: ["admin"], operator: true, status: 204 },
  "POST /v1/admin/tenants/:id/keys/:key/rotate": { roles: ["admin"], operator: true, status: 201, body: {} },
  "GET /v1/admin/tenants/:id/signing-keys": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants/:id/signing-keys": { roles: ["admin"], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id/signing-keys/:key": { roles: ["admin"], operator: true, status: 200 },
  "DELETE /v1/admin/tenants/:id/signing-keys/:key": { roles: ["admin"], operator: true, status: 204 },
  "POST /v1/admin/tenants/:id/signing-keys/:key/rotate": { roles: ["admin"], operator: true, status: 201 },
  "GET /v1/admin/tenants/:id/revocations": { roles: ["admin"], operator: true, status: 200 },
  "POST /v1/admin/tenants/:id/revocations": {
    roles: ["admin"],
    operator: true,
    status: 201,
    body: { kind: "token", value: "t1" },
  },
  "POST /v1/admin/tenants/:id/budgets/seed": { roles: [], operator: true, status: 200, body: {} },
  "GET /v1/admin/token-keys": { roles: [], operator: true, status: 200 },
  "POST /v1/admin/token-keys/rotate": { roles: [], operator: true, status: 201, body: {} },
};
