/** What goes to a child. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

/** What comes back: a result or the text of an error. */
export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}
