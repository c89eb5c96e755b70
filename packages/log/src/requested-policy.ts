import { decodeEvent, type EffectivePolicy, effectivePolicySchema } from "@reprise/protocol";

/**
 * The policy in a seq-0 event, with the default of whatever it does not say. Undefined when the bytes are no event, or hold a
 * policy that this version can't read.
 */
export function readPolicy(requested: Uint8Array): EffectivePolicy | undefined {
  try {
    const { policy } = decodeEvent(requested) as { policy?: unknown };
    return effectivePolicySchema.safeParse(policy ?? {}).data;
  } catch {
    return undefined;
  }
}
