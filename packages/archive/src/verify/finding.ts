/**
 * `tampered`: it is not as it was written. `gap`: something was gone before it could be archived. `unknown`: it can't be told, because something
 * that is needed is not there. `note`: worth knowing, and no fault.
 */
export type FindingKind = "tampered" | "gap" | "unknown" | "note";

export interface Finding {
  readonly kind: FindingKind;
  /** An object's key, or what else it is about. */
  readonly where: string;
  readonly message: string;
}

/** Enough to see what is wrong; a damaged archive could name millions. */
const MAX_FINDINGS = 1_000;
/** So that who litters an archive does not hide what is wrong with it. */
const MAX_NOTES = 200;

/** The findings of a verification. */
export class Findings {
  readonly list: Finding[] = [];
  readonly #counts: Record<FindingKind, number> = { tampered: 0, gap: 0, unknown: 0, note: 0 };

  add(kind: FindingKind, where: string, message: string): void {
    this.#counts[kind]++;
    const isOneTooMany = kind === "note" && this.#counts.note > MAX_NOTES;
    if (!isOneTooMany && this.list.length < MAX_FINDINGS) this.list.push({ kind, where, message });
  }

  count(kind: FindingKind): number {
    return this.#counts[kind];
  }

  /** The worst: what is tampered with outweighs what can't be told, and that a gap. */
  get verdict(): "fine" | Exclude<FindingKind, "note"> {
    return (["tampered", "unknown", "gap"] as const).find((kind) => this.#counts[kind] > 0) ?? "fine";
  }
}
