import { RepriseError } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";

/**
 * Returns the end user of a call: of a token's call the token's own, else the one that the call names.
 * @throws RepriseError `invalid_request` where a token's call names another one
 */
export function ownEndUser(
  { endUser }: Pick<Principal, "endUser">,
  named: string | undefined,
): string | undefined {
  if (endUser === undefined || named === undefined || named === endUser) return endUser ?? named;
  throw new RepriseError("invalid_request", "end_user does not match the stream token.", {
    param: "end_user",
  });
}
