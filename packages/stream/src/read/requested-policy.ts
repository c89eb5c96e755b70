import {
  decodeEvent,
  type EffectivePolicy,
  effectivePolicySchema,
  type GenerationRequest,
  RepriseError,
  type RequestedEvent,
} from "@reprise/protocol";

/** The part of a seq-0 event that is kept in memory; the event may be large. */
export interface RequestMetadata extends Pick<RequestedEvent, "created_at" | "traceparent"> {
  readonly request: Pick<GenerationRequest, "model" | "metadata" | "input_stream"> & {
    /** Without its schema. */
    readonly response_format?: Pick<NonNullable<GenerationRequest["response_format"]>, "type">;
  };
  /** Missing fields have their defaults. */
  readonly policy: EffectivePolicy;
}

const RETRY_AFTER_MS = 1_000;

/**
 * Parses a seq-0 event; undefined if the bytes are not an event.
 *
 * A later version may write a policy that this one can't read. Its requirements are then unknown, so this process does not serve, judge, run or
 * replay the generation on a guess: a gate in a new mode would not be applied here.
 * @throws RepriseError `policy_unsupported`
 */
export function readRequestMetadata(requested: Uint8Array): RequestMetadata | undefined {
  const event = decodeObject(requested);
  if (!event) return undefined;
  const { created_at, request, traceparent } = event;
  const { model = "", metadata, response_format: format, input_stream: stream } = request ?? {};
  return {
    created_at: created_at ?? "",
    request: {
      model,
      ...(metadata && { metadata }),
      ...(stream && { input_stream: stream }),
      ...(format && { response_format: { type: format.type } }),
    },
    policy: toEffectivePolicy(event),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/**
 * The policy of a seq-0 event that is decoded already, with defaults for missing fields.
 * @throws RepriseError `policy_unsupported` when a later version wrote it
 */
export function toEffectivePolicy({ policy }: { readonly policy?: unknown }): EffectivePolicy {
  const parsed = effectivePolicySchema.safeParse(policy ?? {});
  if (parsed.success) return parsed.data;
  const message = "This node is older than the generation's policy and can't read it; a newer node can.";
  throw new RepriseError("policy_unsupported", message, { retryAfterMs: RETRY_AFTER_MS });
}

/**
 * The policy in a seq-0 event, with defaults for missing fields. Undefined when the bytes are no event.
 * @throws RepriseError `policy_unsupported` when a later version wrote it
 */
export function readPolicy(requested: Uint8Array): EffectivePolicy | undefined {
  return readRequestMetadata(requested)?.policy;
}

function decodeObject(requested: Uint8Array): Partial<RequestedEvent> | undefined {
  try {
    return decodeEvent(requested) as Partial<RequestedEvent>;
  } catch {
    return undefined;
  }
}
