import * as z from "zod";
import { CAPABILITIES, type Capability } from "./capability.ts";
import { type Dialect, dialectCapabilities, SIM_CAPABILITIES } from "./dialect.ts";

/** Capabilities of a model in a models file, in addition to its engine's: true or false, by name. */
export const capabilitiesSchema = z.partialRecord(z.enum(CAPABILITIES), z.boolean());

export type DeclaredCapabilities = z.infer<typeof capabilitiesSchema>;

/** Context size of a model in tokens, including its answer. It determines the room for earlier turns of a conversation. */
export const contextTokensSchema = z.int().min(256).max(100_000_000);

/** @param dialect of an OpenAI-compatible server; undefined for the simulator */
export function capabilitiesOf(
  dialect: Dialect | undefined,
  declared: DeclaredCapabilities = {},
): ReadonlySet<Capability> {
  const all = new Set(dialect === undefined ? SIM_CAPABILITIES : dialectCapabilities(dialect));
  for (const [name, can] of Object.entries(declared)) {
    if (can) all.add(name as Capability);
    else all.delete(name as Capability);
  }
  return all;
}
