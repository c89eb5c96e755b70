import {
  decodeEvent,
  type EffectivePolicy,
  effectivePolicySchema,
  type GenerationRequest,
  type RequestedEvent,
} from "@reprise/protocol";

/** What is kept in memory of a seq-0 event, which may be large. */
export interface RequestMetadata extends Pick<RequestedEvent, "created_at"> {
  readonly request: Pick<GenerationRequest, "model" | "metadata">;
  /** Missing fields have their defaults. Undefined when this version can't read it. */
  readonly policy: EffectivePolicy | undefined;
}

/** Undefined when the bytes are no event. */
export function readRequestMetadata(requested: Uint8Array): RequestMetadata | undefined {
  try {
    const { created_at, request, policy } = decodeEvent(requested) as Partial<RequestedEvent>;
    const { model = "", metadata } = request ?? {};
    return {
      created_at: created_at ?? "",
      request: { model, ...(metadata && { metadata }) },
      policy: effectivePolicySchema.safeParse(policy ?? {}).data,
    };
  } catch {
    return undefined;
  }
}

/**
 * The policy in a seq-0 event, with defaults for missing fields. Undefined when the bytes are no event, or hold a
 * policy that this version can't read.
 */
export function readPolicy(requested: Uint8Array): EffectivePolicy | undefined {
  return readRequestMetadata(requested)?.policy;
}
