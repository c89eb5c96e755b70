import type { Seq } from "../seq.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/**
 * A position in a log: after the event `seq`, which was written during `attempt`. The attempt tells apart two logs that
 * went different ways after the same `seq`, which a plain number could not; its nonce tells apart two attempts that got the same
 * number, because the store had lost the first of them.
 */
export interface Cursor {
  readonly attempt: number;
  /** The nonce in the attempt's `generation.started`. */
  readonly nonce?: string | undefined;
  readonly seq: Seq;
}

/** The position before the first event that readers see. */
export const START: Cursor = { attempt: 0, seq: 0 as Seq };

const CURSOR = /^(0|[1-9][0-9]{0,8})(?:\.([0-9a-f]{6}))?-(0|[1-9][0-9]{0,8})$/;

/** Characters of the wire form, which is ASCII. */
export const MAX_CURSOR_LENGTH = 26;

/** The wire form, opaque to clients: ASCII without blanks. */
export function encodeCursor({ attempt, nonce, seq }: Cursor): string {
  return nonce === undefined ? `${attempt}-${seq}` : `${attempt}.${nonce}-${seq}`;
}

/** @throws RepriseError `cursor_invalid` */
export function parseCursor(value: unknown, param = "after"): Cursor {
  const match = typeof value === "string" ? CURSOR.exec(value) : null;
  if (!match)
    throw new RepriseError("cursor_invalid", `${param} is not a cursor that this platform has issued.`, {
      param,
    });
  const [, attempt, nonce, seq] = match;
  return { attempt: Number(attempt), nonce, seq: Number(seq) as Seq };
}
