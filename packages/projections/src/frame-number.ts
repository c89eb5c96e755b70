/** 15 digits are exact in every JSON parser. */
const WHOLE = /^(?:0|[1-9][0-9]{0,14})$/;

/** A frame's number as a client sends it back, from 0; undefined for what is none. */
export function toFrameNumber(text: string): number | undefined {
  return WHOLE.test(text) ? Number(text) : undefined;
}
