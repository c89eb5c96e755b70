import { errors } from "@nats-io/transport-node";

/** Advice for a stream that this process's user may not create or change. */
export const SET_UP = "run `npm run nats -- set-up` as the user admin.";

/** A publish or a subscription that the broker has refused to this process's user. */
export interface Forbidden {
  readonly operation: "publish" | "subscription";
  readonly subject: string;
}

/** True if a call failed because the broker refuses it to this process's user. */
export function isForbidden(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof errors.PermissionViolationError) return true;
  return false;
}
