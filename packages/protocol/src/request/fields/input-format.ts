import * as z from "zod";

/** Rates in Hz and channels of PCM input: 16-bit little-endian samples. */
const RATES = [8_000, 16_000, 24_000, 48_000] as const;
const PCM = /^audio\/pcm;rate=([1-9]\d*);channels=([12])$/;
const BYTES_PER_SAMPLE = 2;

/** `text`, or 16-bit little-endian PCM such as `audio/pcm;rate=16000;channels=1`. */
export type InputFormat = "text" | `audio/pcm;rate=${number};channels=${1 | 2}`;

export const inputFormatSchema = z.custom<InputFormat>(
  (value) => typeof value === "string" && isInputFormat(value),
  { error: `must be text, or audio/pcm;rate=<${RATES.join(" | ")}>;channels=<1 | 2>` },
);

function isInputFormat(value: string): value is InputFormat {
  const rate = PCM.exec(value)?.[1];
  return value === "text" || (RATES as readonly number[]).includes(Number(rate));
}

/** Bytes of a second of sound; undefined for text. */
export function bytesPerSecond(format: InputFormat): number | undefined {
  const [, rate, channels] = PCM.exec(format) ?? [];
  return rate === undefined ? undefined : Number(rate) * Number(channels) * BYTES_PER_SAMPLE;
}
