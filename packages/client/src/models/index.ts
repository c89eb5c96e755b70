import type { Client } from "../client.ts";

/** A model that the key's tenant may ask for. */
export interface Model {
  readonly id: string;
  readonly object: "model";
  /** Number of tokens that its prompts and its answers may have together. Absent if the platform does not know it. */
  readonly context_tokens?: number;
  /** Capabilities, by their names in PROTOCOL.md. Absent if the platform does not know them: then the request finds out. */
  readonly capabilities?: readonly string[];
}

/** The models that the key may use, by name. @throws RepriseError as the client's own calls do */
export async function modelsOf(
  { transport }: Client,
  { signal }: { signal?: AbortSignal } = {},
): Promise<readonly Model[]> {
  const { data } = await transport.call<{ data: Model[] }>({ method: "GET", path: "/v1/models" }, signal);
  return data;
}
