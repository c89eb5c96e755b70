import type { AddressClass } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyRequest } from "fastify";
import { addressClassOf } from "./address-class.ts";

/** The caller, as far as it is recorded. */
export interface Caller {
  /** The holder of the key. */
  readonly by: string;
  readonly address: AddressClass;
}

export function callerOf(
  { clientAddress }: Pick<FastifyRequest, "clientAddress">,
  { holder }: Principal,
): Caller {
  return { by: holder, address: addressClassOf(clientAddress) };
}
