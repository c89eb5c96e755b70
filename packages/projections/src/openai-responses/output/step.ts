/** One event of the protocol, without its number. */
export interface Step {
  readonly type: string;
  readonly [field: string]: unknown;
}
