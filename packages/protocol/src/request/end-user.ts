/**
 * Returns true for a valid `end_user`: a tenant's own id of the person or device on whose behalf a generation was created. Visible ASCII, so that two ids are
 * the same exactly if their bytes are, in a token, a log and a hash.
 */
export function isEndUser(value: unknown): value is string {
  return typeof value === "string" && END_USER.test(value);
}

export const END_USER_RULE = "must be 1 to 128 visible ASCII characters without blanks";
const END_USER = /^[\x21-\x7e]{1,128}$/;
