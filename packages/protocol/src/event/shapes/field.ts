import * as z from "zod";

/** Position of an event in its log. */
export const seq = z.int().min(0).brand<"Seq">();
export const count = z.int().min(0);

/** Syntax of names. Any other value of a name is text, which readers would be shown without moderation. */
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** One of these names, or one that a later version adds: a log of a newer node stays readable on this one. */
export function nameLike<const Name extends string>(_known: readonly Name[]) {
  return z.custom<Name>((value) => typeof value === "string" && NAME.test(value));
}
