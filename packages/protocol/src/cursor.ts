import { RepriseError } from "./reprise-error.ts";

/**
 * A position in a log: after the event `seq`, which was written during `attempt`. The attempt tells apart two logs that
 * went different ways after the same `seq`, which a plain number could not.
 */
export interface Cursor {
  readonly attempt: number;
  readonly seq: number;
}

/** The position before the first event that readers see. */
export const START: Cursor = { attempt: 0, seq: 0 };

const CURSOR = /^(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})$/;

/** The wire form, opaque to clients: at most 19 ASCII characters, no blanks. */
export function encodeCursor({ attempt, seq }: Cursor): string {
  return `${attempt}-${seq}`;
}

/** @throws RepriseError `cursor_invalid` */
export function parseCursor(value: unknown, param = "after"): Cursor {
  const match = typeof value === "string" ? CURSOR.exec(value) : null;
  if (!match)
    throw new RepriseError("cursor_invalid", `${param} is not a cursor that this platform has issued.`, {
      param,
    });
  return { attempt: Number(match[1]), seq: Number(match[2]) };
}
