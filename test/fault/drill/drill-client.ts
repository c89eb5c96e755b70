import { randomUUID } from "node:crypto";
import { type Client, createClient } from "@reprise/client";
import type { GenerationRequest, Policy } from "@reprise/protocol";
import type { Tenant } from "../world/tenant.ts";

const BLOB_TYPE = "application/octet-stream";

/** A request and its key, to send it again. */
interface SentRequest {
  readonly request: GenerationRequest;
  readonly idempotencyKey: string;
}

/** A tenant's own server: remembers its requests and their keys. */
export class DrillClient {
  readonly url: string;
  readonly tenant: Tenant;
  readonly sent: Map<string, SentRequest>;
  readonly #client: Client;

  /** @param sent requests of an earlier client of this tenant */
  constructor(url: string, tenant: Tenant, sent = new Map<string, SentRequest>()) {
    this.url = url;
    this.tenant = tenant;
    this.sent = sent;
    this.#client = createClient({ url, apiKey: tenant.key });
  }

  create(count: number, options: GenerationRequest["options"] & object, policy?: Policy): Promise<string[]> {
    const creating = Array.from({ length: count }, async (_, i) => {
      const request: GenerationRequest = {
        model: "sim",
        input: "Go on.",
        seed: this.sent.size + i,
        options: { tokens_per_second: 60, ...options },
        ...(policy && { policy }),
      };
      const idempotencyKey = randomUUID();
      const { id } = await this.#client.generations.create(request, { idempotencyKey });
      this.sent.set(id, { request, idempotencyKey });
      return id;
    });
    return Promise.all(creating);
  }

  /** Sends a create again and returns the id of the answer. */
  async createAgain(id: string): Promise<string> {
    const { request, idempotencyKey } = this.sent.get(id)!;
    return (await this.#client.generations.create(request, { idempotencyKey })).id;
  }

  /** Resolves with the text as readers get it once the generation has ended. */
  async textOf(id: string): Promise<string> {
    return (await this.#client.generations.stream(id).done()).text;
  }

  /** Calls with the tenant's key, or with another one. */
  async call(path: string, key = this.tenant.key, body?: object): Promise<{ status: number; body: unknown }> {
    const response = await fetch(this.url + path, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Uploads a blob and returns its id. */
  async upload(content: Uint8Array<ArrayBuffer>): Promise<string> {
    const headers = { authorization: `Bearer ${this.tenant.key}`, "content-type": BLOB_TYPE };
    const response = await fetch(`${this.url}/v1/blobs`, { method: "POST", headers, body: content });
    return ((await response.json()) as { id: string }).id;
  }

  async download(id: string): Promise<{ status: number; content: Buffer }> {
    const headers = { authorization: `Bearer ${this.tenant.key}`, accept: BLOB_TYPE };
    const response = await fetch(`${this.url}/v1/blobs/${id}`, { headers });
    return { status: response.status, content: Buffer.from(await response.arrayBuffer()) };
  }

  async mintToken(id: string): Promise<string> {
    const asked = { scopes: ["read"], ttl_seconds: 3_600 };
    const { body } = await this.call(`/v1/generations/${id}/tokens`, this.tenant.key, asked);
    return (body as { token: string }).token;
  }
}
