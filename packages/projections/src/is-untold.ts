/** The fields of an event that decide it. */
interface AnyEvent {
  readonly type: string;
  readonly item?: unknown;
  readonly final?: unknown;
  readonly reason?: unknown;
}

/**
 * Returns true for an event that a protocol has no frame for, because its clients can't take text back: text of an item that may still be revised, of which
 * they get the final text, and an interrupt, whose client knows what it has heard.
 */
export function isUntold({ type, item, final, reason }: AnyEvent): boolean {
  if (type === "output.delta") return item !== undefined && final !== true;
  return type === "output.rewind" && reason === "interrupted";
}
